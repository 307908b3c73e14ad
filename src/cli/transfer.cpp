#include "cli/transfer.h"

#include <fmt/format.h>

#include <cmath>

#include "cli/numbers.h"

namespace continuo::cli {

namespace {

constexpr double window_seconds = 2.0;
constexpr double weight_of_the_new = 0.4;

std::string time_text(double seconds) {
  if (seconds < 99.5) return fmt::format("{:.0f} s", std::ceil(seconds));
  if (seconds < 5940.0) return fmt::format("{:.0f} min", seconds / 60.0);
  return fmt::format("{:.1f} h", seconds / 3600.0);
}

std::string size_text(std::uint64_t bytes) { return human_bytes(static_cast<std::int64_t>(bytes)); }

}  // namespace

std::string TransferMeter::text(std::uint64_t done, std::uint64_t total, Clock::time_point now) {
  if (!started_ || done < mark_bytes_) {  // the start, or a download that began anew
    started_ = true;
    mark_time_ = now;
    mark_bytes_ = done;
  }
  const double elapsed = std::chrono::duration<double>(now - mark_time_).count();
  if (elapsed >= window_seconds) {
    const double fresh = static_cast<double>(done - mark_bytes_) / elapsed;
    speed_ = speed_ > 0.0 ? speed_ + (fresh - speed_) * weight_of_the_new : fresh;
    mark_time_ = now;
    mark_bytes_ = done;
  }
  std::string text = fmt::format("downloading, {} of {}", size_text(done), size_text(total));
  if (speed_ >= 1.0) {
    text += fmt::format(", {}/s, {} left", size_text(static_cast<std::uint64_t>(speed_)),
                        time_text(static_cast<double>(total - std::min(done, total)) / speed_));
  }
  return text;
}

}  // namespace continuo::cli
