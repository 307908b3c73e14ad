// A clip made to repeat without a click.
//
// The end is faded into the beginning with equal power, so the result is shorter than the clip by the crossfade (and by what the
// search takes off): what was the tail now sounds under the first samples, and the last sample is followed, in the clip itself,
// by the first of the result. Where in its last part the clip is cut is chosen: the cut whose tail is most like the beginning
// (cross- correlation), which puts beats on beats. Likeness makes equal-power sums louder; the weights take it into account.
#pragma once

#include <cstdint>
#include <optional>

#include "audio/wav.h"

namespace continuo::audio {

struct LoopOptions {
  double crossfade_seconds = 1.0;  // at most a third of the clip
  double search_seconds = 1.0;     // the cut lies so far before the end at most, and at most a third of the clip
  /// The length that the result must have; then nothing is searched. At most the clip's length without the crossfade.
  std::optional<double> seconds;
};

struct Loop {
  Sound sound;
  std::int64_t crossfade = 0;  // frames; the beginning of the sound
  double likeness = 0.0;       // of what was faded into each other, -1 to 1
};

/// A clip of fewer than 4 frames is given back as it is.
Result<Loop> seamless_loop(const Sound& clip, const LoopOptions& options = {});

}  // namespace continuo::audio
