// Takes as JSON, and what the routes of the library share.
#pragma once

#include <nlohmann/json.hpp>

#include <string>

#include "library/takes.h"
#include "server/http/exchange.h"
#include "server/requests/api_error.h"
#include "server/requests/error_response.h"
#include "server/takes_service.h"

namespace continuo::server {

using OrderedJson = nlohmann::ordered_json;

OrderedJson take_json(const library::Take& take);

/// Text that is not UTF-8 becomes question marks; nothing throws.
inline HttpResponse json_answer(int status, const OrderedJson& json) {
  return json_response(status, json.dump(-1, ' ', false, OrderedJson::error_handler_t::replace));
}

inline HttpResponse error_answer(const Error& error, std::string_view param = {}) {
  return error_response(api_error_of(error, param));
}

/// The take, or why there is none. (Answers are made by functions: g++ 12 loses count of temporaries within a co_await.)
inline HttpResponse take_answer(const Result<library::Take>& take, std::string_view param = {}) {
  return take ? json_answer(200, take_json(*take)) : error_answer(take.error(), param);
}

/// Why Prompts found nothing: 503 while it is not ready.
HttpResponse not_similar(const Prompts& prompts, const Error& error, std::string_view param);

/// What a capture of the route stands for.
inline const std::string& captured(const HttpRequest& request, std::string_view name) {
  static const std::string none;
  const auto found = request.captures.find(name);
  return found == request.captures.end() ? none : found->second;
}

template <class T>
OrderedJson or_null(const std::optional<T>& value) {
  return value ? OrderedJson(*value) : OrderedJson();
}

}  // namespace continuo::server
