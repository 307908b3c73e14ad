#include "server/routes/job_answers.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace continuo::server {

std::string text_of(const nlohmann::ordered_json& json) {
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::optional<ApiError> wrong_media_type(const HttpRequest& request) {
  std::string type(request.header("content-type"));
  type = type.substr(0, type.find(';'));
  while (!type.empty() && type.back() == ' ') type.pop_back();
  std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  // curl -d says that it sends a form; who sends JSON with it means JSON.
  if (type.empty() || type == "application/json" || type.ends_with("+json") || type == "application/x-www-form-urlencoded") {
    return std::nullopt;
  }
  return ApiError{415, "the body must be JSON, with Content-Type: application/json", "", "media_type"};
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
