#include "audio/splice.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace continuo::audio {

void splice(std::span<float> whole, std::span<const float> original, int channels, std::size_t fade) {
  assert(original.size() <= whole.size());
  const auto width = static_cast<std::size_t>(channels);
  const std::size_t samples = original.size() / width;
  fade = std::min(fade, samples);
  const std::size_t kept = (samples - fade) * width;
  std::copy_n(original.begin(), kept, whole.begin());
  for (std::size_t i = 0; i < fade; ++i) {
    const double done = (static_cast<double>(i) + 0.5) / static_cast<double>(fade);
    const double weight = 0.5 - 0.5 * std::cos(std::numbers::pi * done);  // of the reconstruction
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t at = kept + i * width + c;
      whole[at] = static_cast<float>(weight * whole[at] + (1.0 - weight) * original[at]);
    }
  }
}

}  // namespace continuo::audio
