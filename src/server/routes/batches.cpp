// Several requests at once: all of them are taken in, or none. A batch is no more than a name that its jobs share, so it lives as
// long as they do, over a restart too.
#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/jobs/ids.h"
#include "server/jobs/job_json.h"
#include "server/requests/error_response.h"
#include "server/routes/job_answers.h"
#include "server/routes/refusal.h"

namespace continuo::server {

namespace {

using Json = nlohmann::ordered_json;

/// Batches that there were, the newest ones.
class Known {
 public:
  void add(const std::string& id) {
    ids_.insert(id);
    order_.push_back(id);
    if (order_.size() <= 10'000) return;
    ids_.erase(order_.front());
    order_.pop_front();
  }
  bool has(const std::string& id) const { return ids_.contains(id); }

 private:
  std::deque<std::string> order_;
  std::unordered_set<std::string> ids_;
};

struct Batches {
  RoutesOfJobs routes;
  Known known;

  /// In the order of the request.
  std::vector<std::shared_ptr<Job>> jobs(const std::string& id) const {
    auto all = routes->jobs->list();
    std::erase_if(all, [&](const auto& job) { return job->spec().batch != id; });
    std::reverse(all.begin(), all.end());
    return all;
  }
};
using RoutesOfBatches = std::shared_ptr<Batches>;

Json batch_json(const std::string& id, const std::vector<std::shared_ptr<Job>>& jobs) {
  Json list = Json::array();
  for (const auto& job : jobs) list.push_back(job_json(*job));
  return {{"id", id},
          {"object", "batch"},
          {"jobs", list},
          {"urls", {{"self", "/v1/batches/" + id}, {"cancel", "/v1/batches/" + id}}}};
}

tl::expected<std::vector<std::shared_ptr<Job>>, ApiError> jobs_of(const Batches& batches, const HttpRequest& request) {
  const std::string& id = request.captures.find("id")->second;
  auto jobs = id.empty() ? std::vector<std::shared_ptr<Job>>() : batches.jobs(id);
  if (jobs.empty()) return tl::unexpected(no_such("batch", batches.known.has(id)));
  return jobs;
}

Task<void> post_batch(RoutesOfBatches batches, Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  if (const auto error = wrong_media_type(request)) co_return co_await exchange.send(error_response(*error));
  auto specs = parse_batch(request.body, batches->routes->context(request));
  if (!specs) co_return co_await exchange.send(error_response(specs.error()));
  const std::string id = new_id("batch-");
  for (JobSpec& spec : *specs) spec.batch = id;
  const auto jobs = co_await batches->routes->jobs->submit_all(std::move(*specs));
  if (!jobs) co_return co_await exchange.send(refusal_response(jobs.error()));
  batches->known.add(id);
  HttpResponse response = json_response(202, text_of(batch_json(id, *jobs)));
  response.headers.emplace_back("Location", "/v1/batches/" + id);
  co_await exchange.send(std::move(response));
}

Task<void> get_batch(RoutesOfBatches batches, Exchange& exchange) {
  const auto jobs = jobs_of(*batches, exchange.request());
  if (!jobs) co_return co_await exchange.send(error_response(jobs.error()));
  co_await exchange.send(json_response(200, text_of(batch_json(jobs->front()->spec().batch, *jobs))));
}

Task<void> delete_batch(RoutesOfBatches batches, Exchange& exchange) {
  const auto jobs = jobs_of(*batches, exchange.request());
  if (!jobs) co_return co_await exchange.send(error_response(jobs.error()));
  for (const auto& job : *jobs) batches->routes->jobs->cancel(job->id());
  auto waited = *jobs;
  co_await until_over(batches->routes->io, std::move(waited));
  co_await exchange.send(json_response(200, text_of(batch_json(jobs->front()->spec().batch, *jobs))));
}

}  // namespace

void add_batch_routes(Router& router, const RoutesOfJobs& routes) {
  const auto batches = std::make_shared<Batches>();
  batches->routes = routes;
  const auto add = [&](const char* method, const char* pattern, Task<void> (*handler)(RoutesOfBatches, Exchange&),
                       RouteOptions options = {}) {
    router.add(
        method, pattern, [batches, handler](Exchange& exchange) { return handler(batches, exchange); }, options);
  };
  RouteOptions music;
  music.body_bytes = routes->limits.body_bytes;
  music.makes_music = true;
  add("POST", "/v1/batches", post_batch, music);
  add("GET", "/v1/batches/{id}", get_batch);
  add("DELETE", "/v1/batches/{id}", delete_batch);
}

}  // namespace continuo::server
