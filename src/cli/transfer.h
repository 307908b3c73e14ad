// What a person wants to know of a download: how much of how much, how fast, how long still.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace continuo::cli {

class TransferMeter {
 public:
  using Clock = std::chrono::steady_clock;

  /// "downloading, 120 MB of 2.36 GB, 11.5 MB/s, 4 min left". The speed is that of the last seconds, and left out before there is
  /// one.
  std::string text(std::uint64_t done, std::uint64_t total, Clock::time_point now = Clock::now());

 private:
  bool started_ = false;
  Clock::time_point mark_time_{};
  std::uint64_t mark_bytes_ = 0;
  double speed_ = 0.0;  // bytes a second
};

}  // namespace continuo::cli
