#include "server/requests/error_response.h"

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

}  // namespace continuo::server
