#include "server/routes/jobs.h"

#include <charconv>
#include <nlohmann/json.hpp>

#include "server/jobs/job_json.h"
#include "server/requests/error_response.h"
#include "server/routes/job_answers.h"
#include "server/routes/refusal.h"

namespace continuo::server {

namespace {

constexpr std::int64_t usual_list = 50, longest_list = 1000;

std::optional<std::int64_t> whole_number(std::string_view text) {
  std::int64_t number = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (problem != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

tl::expected<std::shared_ptr<Job>, ApiError> job_of(const JobRoutes& routes, const HttpRequest& request) {
  const auto [lookup, job] = routes.jobs->find(request.captures.find("id")->second);
  if (lookup != JobTable::Lookup::found) return tl::unexpected(no_such("job", lookup == JobTable::Lookup::expired));
  return job;
}

Task<void> post_job(RoutesOfJobs routes, Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  if (const auto error = wrong_media_type(request)) co_return co_await exchange.send(error_response(*error));
  auto spec = parse_music_request(request.body, routes->context(request));
  if (!spec) co_return co_await exchange.send(error_response(spec.error()));
  const auto job = co_await routes->jobs->submit(std::move(*spec));
  if (!job) co_return co_await exchange.send(refusal_response(job.error()));
  HttpResponse response = json_response(202, text_of(job_json(**job)));
  response.headers.emplace_back("Location", "/v1/jobs/" + (*job)->id());
  co_await exchange.send(std::move(response));
}

Task<void> list_jobs(RoutesOfJobs routes, Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const auto limit = whole_number(request.argument("limit").value_or(std::to_string(usual_list)));
  if (!limit || *limit < 1 || *limit > longest_list) {
    const ApiError error{422, fmt::format("limit is a whole number from 1 to {}", longest_list), "limit", "invalid_value"};
    co_return co_await exchange.send(error_response(error));
  }
  nlohmann::ordered_json jobs = nlohmann::ordered_json::array();
  for (const auto& job : routes->jobs->list()) {
    if (job->spec().client != request.client) continue;
    if (static_cast<std::int64_t>(jobs.size()) == *limit) break;
    jobs.push_back(job_json(*job));
  }
  const nlohmann::ordered_json list{{"object", "list"}, {"data", std::move(jobs)}};
  co_await exchange.send(json_response(200, text_of(list)));
}

Task<void> get_job(RoutesOfJobs routes, Exchange& exchange) {
  const auto job = job_of(*routes, exchange.request());
  if (!job) co_return co_await exchange.send(error_response(job.error()));
  co_await exchange.send(json_response(200, text_of(job_json(**job))));
}

Task<void> delete_job(RoutesOfJobs routes, Exchange& exchange) {
  const auto job = job_of(*routes, exchange.request());
  if (!job) co_return co_await exchange.send(error_response(job.error()));
  routes->jobs->cancel((*job)->id());
  std::vector<std::shared_ptr<Job>> one{*job};
  co_await until_over(routes->io, std::move(one));
  co_await exchange.send(json_response(200, text_of(job_json(**job))));
}

std::int64_t newest(const Job& job) { return job.events().empty() ? 0 : job.events().back().number; }

/// The number of the last line that the client has seen. Errors: not a number.
std::optional<std::int64_t> last_seen(const HttpRequest& request) {
  const std::string_view header = request.header("last-event-id");
  const std::string text = !header.empty() ? std::string(header) : request.argument("last_event_id").value_or("0");
  const auto number = whole_number(text);
  return number && *number >= 0 ? number : std::nullopt;
}

Task<void> get_events(RoutesOfJobs routes, Exchange& exchange) {
  const auto found = job_of(*routes, exchange.request());
  if (!found) co_return co_await exchange.send(error_response(found.error()));
  const std::shared_ptr<Job> job = *found;
  const auto seen = last_seen(exchange.request());
  if (!seen) {
    const ApiError error{422, "Last-Event-ID is the number of the last event that arrived", "last_event_id", "invalid_value"};
    co_return co_await exchange.send(error_response(error));
  }
  std::int64_t last = *seen;
  // A browser comes back when a stream has ended, until it hears that there is nothing more.
  if (last > 0 && job->ended() && newest(*job) <= last) {
    HttpResponse nothing;
    nothing.status = 204;
    co_return co_await exchange.send(std::move(nothing));
  }
  Headers headers{{"Content-Type", "text/event-stream"}, {"Cache-Control", "no-store"}, {"X-Accel-Buffering", "no"}};
  if (!co_await exchange.begin(200, std::move(headers), std::nullopt)) co_return;
  if (exchange.request().method == "HEAD") co_return co_await exchange.end();
  Wake wake(routes->io);
  job->changed().add(wake);
  exchange.watch(wake);
  const auto ping = std::chrono::milliseconds(static_cast<std::int64_t>(1e3 * routes->ping_seconds));
  auto pinged = std::chrono::steady_clock::now();
  while (!exchange.gone()) {
    const bool over = job->ended().has_value();  // its last line is there
    std::string text;
    for (const JobEvent& event : job->events()) {
      if (event.number <= last) continue;
      text += fmt::format("id: {}\nevent: {}\ndata: {}\n\n", event.number, event.name, event.data);
      last = event.number;
    }
    const auto now = std::chrono::steady_clock::now();
    if (text.empty() && now - pinged >= ping) text = ": ping\n\n";
    if (!text.empty()) {
      pinged = now;
      if (!co_await exchange.write(std::move(text))) co_return;
    }
    if (over && newest(*job) <= last) break;
    if (newest(*job) > last) continue;
    co_await wake.wait(ping);
  }
  if (!exchange.gone()) co_await exchange.end();
}

}  // namespace

void add_job_routes(Router& router, const JobRoutes& given) {
  const RoutesOfJobs routes = std::make_shared<const JobRoutes>(given);
  const auto add = [&](const char* method, const char* pattern, Task<void> (*handler)(RoutesOfJobs, Exchange&),
                       RouteOptions options = {}) {
    router.add(
        method, pattern, [routes, handler](Exchange& exchange) { return handler(routes, exchange); }, options);
  };
  RouteOptions music;
  music.body_bytes = given.limits.body_bytes;
  music.makes_music = true;
  add("POST", "/v1/jobs", post_job, music);
  add("GET", "/v1/jobs", list_jobs);
  add("GET", "/v1/jobs/{id}", get_job);
  add("DELETE", "/v1/jobs/{id}", delete_job);
  add("GET", "/v1/jobs/{id}/events", get_events);
  add_batch_routes(router, routes);
}

}  // namespace continuo::server
