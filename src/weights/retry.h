// Trying again what a network broke: a bounded number of times, each wait twice as long as the one before and jittered, so that
// many machines do not come back in step. A server that says when to come (Retry-After) is obeyed.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "base/error.h"
#include "weights/http.h"

namespace continuo::weights {

struct RetryPolicy {
  int tries = 5;  // in a row without getting anywhere; an exchange that brought a megabyte starts the count anew
  std::chrono::milliseconds first_wait{500};
  std::chrono::milliseconds longest_wait{30'000};
  std::chrono::seconds longest_asked{120};  // a server that wants more gets an error
  std::function<bool()> cancelled;
  std::function<void(const std::string& text)> notice;  // "... ; trying again in 2 s"
};

/// Runs `attempt` until its reply is whole and its status is not one that passes (408, 429, 500, 502, 503, 504). `what` begins
/// the error when the tries are used up.
Result<HttpReply> with_retries(const RetryPolicy& policy, const std::string& what,
                               const std::function<Result<HttpReply>()>& attempt);

}  // namespace continuo::weights
