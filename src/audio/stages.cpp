#include "audio/stages.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace continuo::audio {

double db_to_gain(double db) { return std::pow(10.0, db / 20.0); }
double gain_to_db(double gain) { return 20.0 * std::log10(gain); }

Status Repair::push(std::span<const float> in, std::vector<float>& out) {
  out.reserve(out.size() + in.size());
  for (const float sample : in) {
    const bool good = std::isfinite(sample);
    replaced_ += good ? 0 : 1;
    out.push_back(good ? sample : 0.0F);
  }
  return {};
}

Status ChannelMix::push(std::span<const float> in, std::vector<float>& out) {
  if (from_ == to_) {
    out.insert(out.end(), in.begin(), in.end());
  } else if (from_ == 1) {
    for (const float sample : in) out.insert(out.end(), 2, sample);
  } else {
    for (std::size_t i = 0; i + 1 < in.size(); i += 2) out.push_back(0.5F * in[i] + 0.5F * in[i + 1]);
  }
  return {};
}

Status Gain::push(std::span<const float> in, std::vector<float>& out) {
  for (const float sample : in) out.push_back(gain_ * sample);
  return {};
}

float Fades::gain_at(std::int64_t frame) const {
  // Half a frame off the ends, so that a fade is the same forwards and backwards.
  const auto rise = [](std::int64_t i, std::int64_t length) {
    if (i >= length) return 1.0;
    if (i < 0) return 0.0;
    return 0.5 - 0.5 * std::cos(std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(length));
  };
  double gain = rise(frame, in_);
  if (out_ > 0) gain *= rise(total_ - 1 - frame, out_);
  return static_cast<float>(gain);
}

Status Fades::push(std::span<const float> in, std::vector<float>& out) {
  for (std::size_t i = 0; i < in.size(); ++at_) {
    const float gain = gain_at(at_);
    for (int c = 0; c < channels_; ++c) out.push_back(gain * in[i++]);
  }
  return {};
}

}  // namespace continuo::audio
