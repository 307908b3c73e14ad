#include "cli/progress.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>

namespace continuo::cli {

namespace {

constexpr int bar_width = 24;
constexpr auto redraw_after = std::chrono::milliseconds(100);
constexpr auto line_after = std::chrono::seconds(10);

std::string bar_of(double share) {
  const int full = static_cast<int>(std::lround(std::clamp(share, 0.0, 1.0) * bar_width));
  return "[" + std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(bar_width - full), '-') +
         "] ";
}

}  // namespace

std::string progress_text(const engine::Progress& progress, double elapsed_seconds, bool bar) {
  const double total = progress.audio_seconds_total;
  const double share = total > 0.0 ? progress.audio_seconds / total : 0.0;
  std::string text = bar ? bar_of(share) : "";
  switch (progress.stage) {
    case engine::Stage::text: return text + "reading the prompt";
    case engine::Stage::codec: return text + fmt::format("{:.1f} s composed, turning it into sound", total);
    case engine::Stage::decoder: break;
  }
  text += fmt::format("{:.1f} of {:.1f} s", progress.audio_seconds, total);
  if (elapsed_seconds > 0.3 && progress.audio_seconds > 0.0) {
    const double speed = progress.audio_seconds / elapsed_seconds;
    text += fmt::format(", {:.1f}x real time, {:.0f} s left", speed, std::ceil((total - progress.audio_seconds) / speed));
  }
  return text;
}

bool progress_on_terminal() { return ::isatty(STDERR_FILENO) == 1; }

ProgressDisplay::ProgressDisplay(std::FILE* stream, bool terminal) : stream_(stream), terminal_(terminal), last_(Clock::now()) {}

ProgressDisplay::~ProgressDisplay() { clear(); }

bool ProgressDisplay::due(Clock::time_point now) const {
  if (terminal_) return !drawn_ || now - last_ >= redraw_after;
  return now - last_ >= line_after;
}

void ProgressDisplay::print(const std::string& text) {
  // ESC [K clears what a longer line left behind.
  if (terminal_) std::fprintf(stream_, "\r%s\033[K", text.c_str());
  if (!terminal_) std::fprintf(stream_, "%s\n", text.c_str());
  std::fflush(stream_);
  drawn_ = terminal_;
}

void ProgressDisplay::show(const engine::Progress& progress) {
  const auto now = Clock::now();
  if (progress.stage == engine::Stage::decoder && decoder_start_ == Clock::time_point{}) decoder_start_ = now;
  if (!due(now)) return;
  const bool started = decoder_start_ != Clock::time_point{};
  const double elapsed = started ? std::chrono::duration<double>(now - decoder_start_).count() : 0.0;
  print(progress_text(progress, elapsed, terminal_));
  last_ = now;
}

void ProgressDisplay::show(const std::string& what, double share) {
  const auto now = Clock::now();
  if (!due(now)) return;
  print(fmt::format("{}{}: {:.0f}%", terminal_ ? bar_of(share) : "", what, share * 100.0));
  last_ = now;
}

void ProgressDisplay::clear() {
  if (!drawn_) return;
  std::fprintf(stream_, "\r\033[K");
  std::fflush(stream_);
  drawn_ = false;
}

}  // namespace continuo::cli
