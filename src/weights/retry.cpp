#include "weights/retry.h"

#include <algorithm>
#include <array>
#include <random>
#include <thread>

namespace continuo::weights {

namespace {

using std::chrono::milliseconds;

constexpr std::uint64_t progress_bytes = 1'000'000;

bool passing(long status) {
  static constexpr std::array<long, 6> statuses{408, 429, 500, 502, 503, 504};
  return std::find(statuses.begin(), statuses.end(), status) != statuses.end();
}

/// Half to one and a half times.
milliseconds jittered(milliseconds wait) {
  static std::mt19937 random{std::random_device{}()};
  return milliseconds(
      static_cast<std::int64_t>(static_cast<double>(wait.count()) * std::uniform_real_distribution<double>(0.5, 1.5)(random)));
}

Status sleep_for(milliseconds wait, const std::function<bool()>& cancelled) {
  constexpr milliseconds nap{50};
  const auto end = std::chrono::steady_clock::now() + wait;
  while (std::chrono::steady_clock::now() < end) {
    if (cancelled && cancelled()) return fail(ErrorCode::cancelled, "interrupted");
    std::this_thread::sleep_for(nap);
  }
  return {};
}

}  // namespace

Result<HttpReply> with_retries(const RetryPolicy& policy, const std::string& what,
                               const std::function<Result<HttpReply>()>& attempt) {
  milliseconds wait = policy.first_wait;
  for (int tried = 1;; ++tried) {
    CONTINUO_TRY(HttpReply reply, attempt());
    const std::string why = !reply.failure.empty()  ? reply.failure
                            : passing(reply.status) ? fmt::format("the server answers {}", reply.status)
                                                    : "";
    if (why.empty()) return reply;
    if (reply.body_bytes >= progress_bytes) {
      tried = 1;
      wait = policy.first_wait;
    }
    if (reply.retry_after > policy.longest_asked) {
      return fail(ErrorCode::io, "{}: {} and asks to be left alone for {} s; run the same command again then", what, why,
                  reply.retry_after.count());
    }
    if (tried >= policy.tries) {
      return fail(ErrorCode::io, "{}: {} ({} tries); run the same command again later, it continues where it stopped", what, why,
                  tried);
    }
    const milliseconds pause = std::max<milliseconds>(jittered(wait), reply.retry_after);
    if (policy.notice) policy.notice(fmt::format("{}; trying again in {:.1f} s", why, static_cast<double>(pause.count()) / 1e3));
    CONTINUO_CHECK(sleep_for(pause, policy.cancelled));
    wait = std::min(wait * 2, policy.longest_wait);
  }
}

}  // namespace continuo::weights
