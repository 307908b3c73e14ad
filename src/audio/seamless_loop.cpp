#include "audio/seamless_loop.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace continuo::audio {

namespace {

constexpr std::int64_t coarse_rate = 4000;  // beats and their phase show at it, and the search takes milliseconds

/// The mean of the channels, and of `factor` frames each.
std::vector<float> thinned(const Sound& sound, std::int64_t factor) {
  const auto width = static_cast<std::size_t>(factor * sound.channels);
  std::vector<float> means(sound.samples.size() / width);
  for (std::size_t i = 0; i < means.size(); ++i) {
    double sum = 0.0;
    for (std::size_t k = 0; k < width; ++k) sum += sound.samples[i * width + k];
    means[i] = static_cast<float>(sum / static_cast<double>(width));
  }
  return means;
}

/// Of the beginning and what lies before `end`, `length` samples each; 0 where one is silent.
double likeness(std::span<const float> mono, std::int64_t length, std::int64_t end) {
  const float* const head = mono.data();
  const float* const tail = mono.data() + (end - length);
  double product = 0.0, heads = 0.0, tails = 0.0;
  for (std::int64_t i = 0; i < length; ++i) {
    product += static_cast<double>(head[i]) * tail[i];
    heads += static_cast<double>(head[i]) * head[i];
    tails += static_cast<double>(tail[i]) * tail[i];
  }
  return heads > 0.0 && tails > 0.0 ? product / std::sqrt(heads * tails) : 0.0;
}

/// The end in [first, last] whose tail is most like the beginning; the last of equals.
std::int64_t best_end(std::span<const float> mono, std::int64_t length, std::int64_t first, std::int64_t last) {
  std::int64_t best = last;
  double most = -2.0;
  for (std::int64_t end = last; end >= first; --end) {
    const double now = likeness(mono, length, end);
    if (now > most + 1e-9) {
      most = now;
      best = end;
    }
  }
  return best;
}

std::int64_t find_end(const Sound& clip, std::int64_t crossfade, std::int64_t search) {
  const std::int64_t frames = clip.frames(), factor = std::max<std::int64_t>(1, clip.sample_rate / coarse_rate);
  if (crossfade < 2 * factor) return frames;
  const std::vector<float> coarse = thinned(clip, factor);
  const auto size = static_cast<std::int64_t>(coarse.size());
  const std::int64_t length = crossfade / factor;
  const std::int64_t about = best_end(coarse, length, std::max(length, size - search / factor), size) * factor;
  const std::int64_t first = std::max(frames - search, about - factor), last = std::min(frames, about + factor);
  return best_end(thinned(clip, 1), crossfade, std::max(first, 2 * crossfade), std::max(last, 2 * crossfade));
}

}  // namespace

Result<Loop> seamless_loop(const Sound& clip, const LoopOptions& options) {
  const std::int64_t frames = clip.frames();
  const auto in_frames = [&](double seconds) {
    return std::min(frames / 3, static_cast<std::int64_t>(std::llround(seconds * clip.sample_rate)));
  };
  const std::int64_t crossfade = in_frames(options.crossfade_seconds);
  if (crossfade < 1 || frames < 4) return Loop{clip};
  std::int64_t end = frames;
  if (options.seconds) {
    end = std::llround(*options.seconds * clip.sample_rate) + crossfade;
    if (end > frames || end < 2 * crossfade) {
      return fail(ErrorCode::invalid_argument, "a clip of {:.2f} s with a crossfade of {:.2f} s cannot become a loop of {:.2f} s",
                  static_cast<double>(frames) / clip.sample_rate, static_cast<double>(crossfade) / clip.sample_rate,
                  *options.seconds);
    }
  } else {
    end = find_end(clip, crossfade, in_frames(options.search_seconds));
  }
  const auto channels = static_cast<std::size_t>(clip.channels);
  Loop loop{{{}, clip.channels, clip.sample_rate}, crossfade, likeness(thinned(clip, 1), crossfade, end)};
  loop.sound.samples.assign(clip.samples.begin(), clip.samples.begin() + (end - crossfade) * clip.channels);
  for (std::int64_t i = 0; i < crossfade; ++i) {
    const double angle = 0.5 * std::numbers::pi * (static_cast<double>(i) + 0.5) / static_cast<double>(crossfade);
    const double in = std::sin(angle), out = std::cos(angle);
    // The power of in * a + out * b for a and b of equal power and this likeness. Opposites would need endless weights.
    const double power = std::sqrt(1.0 + 2.0 * in * out * std::max(loop.likeness, -0.5));
    for (std::size_t c = 0; c < channels; ++c) {
      const auto head = static_cast<std::size_t>(i) * channels + c;
      const auto tail = static_cast<std::size_t>(end - crossfade + i) * channels + c;
      loop.sound.samples[head] = static_cast<float>((in * clip.samples[head] + out * clip.samples[tail]) / power);
    }
  }
  return loop;
}

}  // namespace continuo::audio
