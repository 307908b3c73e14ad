#include "server/requests/api_error.h"

#include <nlohmann/json.hpp>

namespace continuo::server {

using nlohmann::json;

tl::unexpected<ApiError> refuse(int status, std::string code, std::string param, std::string message) {
  return tl::unexpected(ApiError{status, std::move(message), std::move(param), std::move(code)});
}

const char* error_type_of(int status) {
  if (status == 401) return "authentication_error";
  if (status == 404 || status == 410) return "not_found";
  if (status == 429) return "rate_limit_error";
  return status >= 500 ? "server_error" : "invalid_request_error";
}

ApiError api_error_of(const Error& error, std::string_view param) {
  ApiError answer{422, error.message, std::string(param), {}};
  switch (error.code) {
    case ErrorCode::invalid_argument: answer.code = "invalid_value"; break;
    case ErrorCode::unsupported: answer.code = "unsupported"; break;
    case ErrorCode::corrupt_file: answer.code = "invalid_file"; break;
    case ErrorCode::out_of_memory: answer.code = "out_of_memory"; break;
    case ErrorCode::not_found:
      answer.status = 404;
      answer.code = "not_found";
      break;
    case ErrorCode::cancelled:
      answer.status = 409;
      answer.code = "cancelled";
      break;
    case ErrorCode::io:
      answer.status = 500;
      answer.code = "internal_error";
      answer.message = "something went wrong inside the server; its log says what";
      break;
  }
  return answer;
}

std::string error_body(const ApiError& error) {
  const auto text_or_null = [](const std::string& text) { return text.empty() ? json() : json(text); };
  const json body{{"error",
                   {{"message", error.message},
                    {"type", error_type_of(error.status)},
                    {"param", text_or_null(error.param)},
                    {"code", text_or_null(error.code)}}}};
  return body.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace continuo::server
