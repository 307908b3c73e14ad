#include "server/front.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "server/requests/error_response.h"

namespace continuo::server {

namespace {

ApiError api_error(int status, std::string code, std::string message) {
  return {status, std::move(message), {}, std::move(code)};
}

/// Codes for programs, where a status alone says too little.
std::string code_of(int status) {
  switch (status) {
    case 400: return "malformed";
    case 404: return "not_found";
    case 405: return "method_not_allowed";
    case 408: return "timeout";
    case 413: return "too_large";
    case 431: return "head_too_large";
    case 500: return "internal";
    case 503: return "unavailable";
    default: return {};
  }
}

}  // namespace

Front::Front(const Router& router, const Hosts& hosts, const Keys* keys, const Limits& limits, Log& log, Hooks hooks)
    : router_(router),
      hosts_(hosts),
      keys_(keys),
      limits_(limits),
      rates_(limits.requests_per_minute),
      log_(log),
      hooks_(std::move(hooks)) {}

HttpResponse Front::error(int status, const std::string& message) const {
  return error_response(api_error(status, code_of(status), message));
}

Admission Front::admit(HttpRequest& head) {
  Admission admission;
  const auto refuse_with = [&](const ApiError& why, double retry_after = 0.0) {
    admission.route = nullptr;
    admission.refusal = error_response(why, retry_after);
    return std::move(admission);
  };
  const std::string_view host = head.header("host");
  if (!hosts_.knows(host)) {
    return refuse_with(api_error(403, "host_refused",
                                 "this server does not answer to the name in the Host header; use its address or localhost, or "
                                 "start it with --host-name"));
  }
  if (hosts_.origin_of(head.header("origin"), host) == Hosts::Origin::foreign) {
    return refuse_with(
        api_error(403, "origin_refused", "pages of this origin may not call this server; its owner can allow it with --origin"));
  }
  if (auto answer = hosts_.preflight(head)) {
    admission.refusal = std::move(*answer);
    return admission;
  }
  admission.extra = hosts_.cors_headers(head);

  Router::Found found = router_.find(head.method, head.path);
  const bool open = found.route != nullptr && found.route->options.open;
  // Before the routes, so that someone without a key does not learn which there are.
  if (keys_ != nullptr && !open) {
    const auto name = keys_->name_of(shown_key(head.header("authorization"), head.header("x-api-key")));
    if (!name) {
      Admission refused = refuse_with(api_error(
          401, "invalid_api_key", "this server needs an API key: send it as 'Authorization: Bearer KEY' or 'X-Api-Key: KEY'"));
      refused.refusal.headers.emplace_back("WWW-Authenticate", "Bearer");
      return refused;
    }
    head.client = "key:" + *name;
  }
  if (found.route == nullptr && found.allowed.empty()) {
    return refuse_with(
        api_error(404, "not_found", fmt::format("there is nothing at {}; /openapi.json lists what there is", head.path)));
  }
  if (found.route == nullptr) {
    Admission refused = refuse_with(api_error(405, "method_not_allowed", fmt::format("{} is not possible here", head.method)));
    refused.refusal.headers.emplace_back("Allow", fmt::format("{}", fmt::join(found.allowed, ", ")));
    return refused;
  }
  if (hooks_.unready) {
    if (const auto why = hooks_.unready(*found.route)) return refuse_with(*why, 2.0);
  }
  if (found.route->options.makes_music) {
    if (const auto wait = rates_.retry_after(head.client, std::chrono::steady_clock::now())) {
      if (hooks_.rejected) hooks_.rejected("rate");
      return refuse_with(api_error(429, "rate_limit",
                                   fmt::format("at most {} requests for music a minute; try again in {:.0f} s",
                                               limits_.requests_per_minute, std::max(*wait, 1.0))),
                         *wait);
    }
  }
  admission.route = found.route;
  admission.body_bytes = found.route->options.body_bytes > 0 ? found.route->options.body_bytes : limits_.body_bytes;
  head.captures = std::move(found.captures);
  return admission;
}

void Front::note(const HttpRequest& request, const Router::Route* route, const Answered& answered) {
  const std::string pattern = route != nullptr ? route->pattern : std::string();
  log_.access({request.id, request.client, request.method, pattern, answered.status, answered.body_bytes, answered.seconds,
               answered.cut});
  if (!answered.failure.empty())
    log_.error("a handler failed", {{"id", request.id}, {"route", pattern}, {"error", answered.failure}});
  if (hooks_.answered) hooks_.answered(pattern, answered.status, answered.seconds);
}

void Front::connected(int change) {
  if (hooks_.connections) hooks_.connections(change);
}

}  // namespace continuo::server
