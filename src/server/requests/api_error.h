// Why a request is refused, in the words of the HTTP API. No Asio here: readers of requests are also built for fuzzing.
#pragma once

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "base/error.h"

namespace continuo::server {

/// One sentence for the person, and what a program needs to act on it.
struct ApiError {
  int status = 422;
  std::string message;
  std::string param;  // the field that is to blame, "segments[1].duration"; empty: none
  std::string code;   // for programs: "unknown_field", "queue_full"; empty: none
};

template <class T>
using Parsed = tl::expected<T, ApiError>;

/// `return refuse(422, "unsupported", "strategy", "...");`
tl::unexpected<ApiError> refuse(int status, std::string code, std::string param, std::string message);

/// invalid_request_error, authentication_error, not_found, rate_limit_error or server_error.
const char* error_type_of(int status);

/// What went wrong inside, as an answer: invalid_argument, unsupported and corrupt_file are the request's fault (422), so is what
/// can never fit into the memory; not_found 404, cancelled 409, io 500. The message of an io error stays in the log: it names
/// files of the server.
ApiError api_error_of(const Error& error, std::string_view param = {});

/// {"error": {"message", "type", "param", "code"}}, the body of every answer that is not a success.
std::string error_body(const ApiError& error);

}  // namespace continuo::server

/// Returns from the enclosing function when a Parsed holds an error.
#define CONTINUO_PARSE(declaration, expression) CONTINUO_PARSE_IMPL(CONTINUO_CONCAT(parsed_, __LINE__), declaration, expression)
#define CONTINUO_PARSE_IMPL(temporary, declaration, expression)        \
  auto temporary = (expression);                                       \
  if (!temporary) return tl::unexpected(std::move(temporary).error()); \
  declaration = std::move(*temporary)
