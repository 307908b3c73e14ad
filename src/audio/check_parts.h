// The parts of check_sound(). Each looks at one channel and knows nothing of the others.
#pragma once

#include <span>
#include <vector>

#include "audio/check.h"

namespace continuo::audio {

/// One channel, every sample finite: what was not is the straight line between its neighbours, so that it is reported once, as
/// what it is, and not as a click as well.
struct CheckedChannel {
  std::span<const float> samples;
  std::span<const std::size_t> mended;  // places of samples that were not finite, ascending
  int sample_rate = 0;

  double seconds(std::size_t at) const { return static_cast<double>(at) / sample_rate; }
  /// So many milliseconds in samples, at least 1.
  std::size_t milliseconds(double ms) const;
  /// Whether a mended sample lies within `distance` of `at`.
  bool near_mended(std::size_t at, std::size_t distance) const;
};

/// Prediction errors that stand alone, far above those around.
std::vector<Fault> find_clicks(const CheckedChannel& channel);
/// Holes with steep sides, and samples that stand still, for more than 5 ms.
std::vector<Fault> find_dropouts(const CheckedChannel& channel);

struct PhaseFinding {
  std::optional<PhaseContinuity> continuity;
  std::vector<Fault> faults;
};
Result<PhaseFinding> check_phase(const CheckedChannel& channel);

}  // namespace continuo::audio
