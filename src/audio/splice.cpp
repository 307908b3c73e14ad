#include "audio/splice.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numbers>

namespace continuo::audio {

void splice_piece(std::span<float> piece, std::size_t first, std::span<const float> original, int channels, std::size_t fade) {
  const auto width = static_cast<std::size_t>(channels);
  const std::size_t samples = original.size() / width;
  fade = std::min(fade, samples);
  const std::size_t kept = samples - fade;
  const std::size_t end = std::min(samples, first + piece.size() / width);
  for (std::size_t i = first; i < end; ++i) {
    // Of the reconstruction.
    const double done = i < kept ? 0.0 : (static_cast<double>(i - kept) + 0.5) / static_cast<double>(fade);
    const double weight = 0.5 - 0.5 * std::cos(std::numbers::pi * done);
    for (std::size_t c = 0; c < width; ++c) {
      float& sample = piece[(i - first) * width + c];
      const float own = original[i * width + c];
      sample = i < kept ? own : static_cast<float>(weight * sample + (1.0 - weight) * own);
    }
  }
}

void splice(std::span<float> whole, std::span<const float> original, int channels, std::size_t fade) {
  assert(original.size() <= whole.size());
  splice_piece(whole, 0, original, channels, fade);
}

}  // namespace continuo::audio
