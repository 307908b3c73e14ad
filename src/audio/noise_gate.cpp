#include "audio/noise_gate.h"

#include <algorithm>
#include <cmath>

#include "audio/stages.h"

namespace continuo::audio {

namespace {

std::int64_t frames_of(double seconds, int rate) { return std::max<std::int64_t>(1, std::llround(seconds * rate)); }

}  // namespace

NoiseGate::NoiseGate(int channels, int rate, const GateOptions& options)
    : channels_(static_cast<std::size_t>(channels)),
      open_at_(static_cast<float>(db_to_gain(options.threshold_db))),
      close_at_(static_cast<float>(db_to_gain(options.threshold_db - options.hysteresis_db))),
      hold_(frames_of(options.hold_seconds, rate)),
      ahead_(frames_of(options.attack_seconds, rate)),
      release_(frames_of(options.release_seconds, rate)),
      attack_(ahead_),
      delay_(static_cast<std::size_t>(ahead_) * channels_) {}

void NoiseGate::step(const float* frame, std::vector<float>& out) {
  float peak = 0.0F;
  for (std::size_t c = 0; c < channels_; ++c) peak = std::max(peak, std::abs(frame[c]));
  const bool was_open = held_ > 0;
  if (peak >= open_at_ || (was_open && peak >= close_at_)) {
    // The delayed sound must still pass when the last loud frame comes out.
    held_ = hold_ + ahead_;
  } else if (was_open) {
    --held_;
  }
  const std::int64_t top = attack_ * release_;
  position_ = held_ > 0 ? std::min(top, position_ + release_) : std::max<std::int64_t>(0, position_ - attack_);
  const auto gain = static_cast<float>(static_cast<double>(position_) / static_cast<double>(top));
  float* const delayed = delay_.data() + static_cast<std::size_t>(frames_ % ahead_) * channels_;
  for (std::size_t c = 0; c < channels_; ++c) {
    if (frames_ >= ahead_) out.push_back(position_ == 0 ? 0.0F : gain * delayed[c]);
    delayed[c] = frame[c];
  }
  ++frames_;
}

Status NoiseGate::push(std::span<const float> in, std::vector<float>& out) {
  for (std::size_t i = 0; i < in.size(); i += channels_) step(in.data() + i, out);
  return {};
}

Status NoiseGate::finish(std::vector<float>& out) {
  // Each of them brings out the frame that lies ahead_ before it, as far as there is one.
  const std::vector<float> zeros(channels_);
  for (std::int64_t i = 0; i < ahead_; ++i) step(zeros.data(), out);
  return {};
}

}  // namespace continuo::audio
