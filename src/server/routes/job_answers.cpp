#include "server/routes/job_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace continuo::server {

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

ApiError no_such(std::string_view what, bool expired) {
  if (expired) return {410, fmt::format("this {} ended a while ago and is no longer kept", what), "", "expired"};
  return {404, fmt::format("there is no such {}", what), "", "not_found"};
}

Task<void> until_over(boost::asio::any_io_executor io, std::vector<std::shared_ptr<Job>> jobs) {
  Wake wake(io);
  for (const auto& job : jobs) job->changed().add(wake);
  const auto all_over = [&] { return std::all_of(jobs.begin(), jobs.end(), [](const auto& job) { return job->ended(); }); };
  const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(5);
  while (!all_over() && std::chrono::steady_clock::now() < last) co_await wake.wait(std::chrono::seconds(1));
}

}  // namespace continuo::server
