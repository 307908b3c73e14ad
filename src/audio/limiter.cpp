#include "audio/limiter.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "audio/stages.h"

namespace continuo::audio {

namespace {

constexpr std::int64_t one = std::int64_t{1} << 30;
constexpr std::size_t taps = 16;  // of the interpolation; half of them lie after the point
constexpr int half = taps / 2;

/// Windowed sines that give the sound at 1/4, 1/2 and 3/4 of the way between samples half - 1 and half of `taps`.
using Phases = std::array<std::array<float, taps>, 3>;

Phases make_phases() {
  Phases phases{};
  for (int phase = 0; phase < 3; ++phase) {
    for (int tap = 0; tap < 2 * half; ++tap) {
      const double distance = tap - (half - 1) - 0.25 * (phase + 1);
      const double x = std::numbers::pi * distance;
      const double window = std::cos(0.5 * x / half);
      phases[static_cast<std::size_t>(phase)][static_cast<std::size_t>(tap)] =
          static_cast<float>(std::sin(x) / x * window * window);
    }
  }
  return phases;
}

const Phases& phases() {
  static const Phases made = make_phases();
  return made;
}

}  // namespace

Limiter::Box::Box(std::size_t length, std::int64_t start)
    : ring_(length, start), sum_(start * static_cast<std::int64_t>(length)) {}

std::int64_t Limiter::Box::add(std::int64_t value) {
  sum_ += value - ring_[at_];
  ring_[at_] = value;
  at_ = at_ + 1 == ring_.size() ? 0 : at_ + 1;
  return sum_;
}

Limiter::Limiter(int channels, int rate, const LimiterOptions& options)
    : channels_(static_cast<std::size_t>(channels)),
      ceiling_(static_cast<float>(db_to_gain(options.ceiling_db))),
      window_(std::max<std::int64_t>(2, std::llround(options.look_ahead_seconds * rate))),
      latency_(half + window_ - 1),
      release_(1.0 - std::exp(-1.0 / std::max(1.0, options.release_seconds * rate))),
      delay_(static_cast<std::size_t>(latency_ + 1) * channels_),
      history_(channels_ * 2 * taps),
      // Together the boxes span window_ frames.
      first_(static_cast<std::size_t>(window_ / 2), one),
      second_(static_cast<std::size_t>(window_ + 1 - window_ / 2), one * (window_ / 2)),
      unit_(static_cast<double>(one) * static_cast<double>(window_ / 2) * static_cast<double>(window_ + 1 - window_ / 2)) {}

/// The largest amplitude between the two samples that lie `half` and `half` - 1 frames back.
float Limiter::peak_between(const float* frame) {
  float peak = 0.0F;
  for (std::size_t c = 0; c < channels_; ++c) {
    float* const ring = history_.data() + c * 2 * taps;
    ring[history_at_] = ring[history_at_ + taps] = frame[c];
    const float* const samples = ring + history_at_ + 1;  // the oldest of the last `taps`
    for (const auto& phase : phases()) {
      float sum = 0.0F;
      for (std::size_t i = 0; i < taps; ++i) sum += phase[i] * samples[i];
      peak = std::max(peak, std::abs(sum));
    }
  }
  history_at_ = (history_at_ + 1) % taps;
  return peak;
}

/// Of the window that ends with the frame to which `allowed` belongs.
double Limiter::minimum_ahead(double allowed) {
  while (!minima_.empty() && minima_.back().allowed >= allowed) minima_.pop_back();
  minima_.push_back({frames_, allowed});
  if (minima_.front().frame <= frames_ - window_) minima_.pop_front();
  return minima_.front().allowed;
}

void Limiter::step(const float* frame, std::vector<float>& out) {
  const auto place = [&](std::int64_t at) { return delay_.data() + static_cast<std::size_t>(at % (latency_ + 1)) * channels_; };
  std::copy_n(frame, channels_, place(frames_));
  const float between = peak_between(frame);
  float peak = std::max(last_between_, between);
  last_between_ = between;
  const float* const middle = place(frames_ + latency_ + 1 - half);  // `half` frames back; before the beginning: still zeros
  for (std::size_t c = 0; c < channels_; ++c) peak = std::max(peak, std::abs(middle[c]));

  const double minimum = minimum_ahead(peak > ceiling_ ? static_cast<double>(ceiling_) / peak : 1.0);
  gain_ += (1.0 - gain_) * release_;
  if (gain_ > 1.0 - 1e-6) gain_ = 1.0;  // 10^-5 dB: it would not arrive otherwise
  gain_ = std::min(gain_, minimum);
  const auto units = static_cast<std::int64_t>(gain_ * static_cast<double>(one));  // rounded down
  const double mean = static_cast<double>(second_.add(first_.add(units))) / unit_;
  if (frames_ >= latency_) {
    smallest_gain_ = std::min(smallest_gain_, mean);
    const auto gain = static_cast<float>(mean);
    const float* const delayed = place(frames_ - latency_);
    // Rounding may end half a unit in the last place above.
    for (std::size_t c = 0; c < channels_; ++c) out.push_back(std::clamp(gain * delayed[c], -ceiling_, ceiling_));
  }
  ++frames_;
}

Status Limiter::push(std::span<const float> in, std::vector<float>& out) {
  for (std::size_t i = 0; i < in.size(); i += channels_) step(in.data() + i, out);
  return {};
}

Status Limiter::finish(std::vector<float>& out) {
  const std::vector<float> zeros(channels_);
  for (std::int64_t i = 0; i < latency_; ++i) step(zeros.data(), out);
  return {};
}

}  // namespace continuo::audio
