#include "server/requests/error_response.h"

#include <algorithm>
#include <cctype>

#include <cmath>

namespace continuo::server {

HttpResponse json_response(int status, std::string body) {
  return {status, {{"Content-Type", "application/json"}}, std::move(body)};
}

HttpResponse error_response(const ApiError& error, double retry_after_seconds) {
  HttpResponse response = json_response(error.status, error_body(error));
  if (retry_after_seconds > 0.0) {
    response.headers.emplace_back("Retry-After", std::to_string(static_cast<std::int64_t>(std::ceil(retry_after_seconds))));
  }
  return response;
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

}  // namespace continuo::server
