// The finishing of a sound, between the model and the encoder: what is wanted, and the stages that do it, in this order:
//
//   repair -> gate -> channels -> rate -> level -> loop -> loudness -> limiter -> fades
//
// The gate comes first, at the level the model gave. Loudness is that of the channels and the rate that are written. Resampling
// and gains may exceed full scale, so the limiter comes after them; fades only get softer, and end in silence because nothing
// follows.
//
// A whole clip is measured and gets one gain; a stream, whose end nobody has heard, gets a gain that moves (audio/loudness.h).
// Loops need the whole clip. The limiter does nothing, to the bit, to what stays below the ceiling.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "audio/limiter.h"
#include "audio/noise_gate.h"
#include "audio/seamless_loop.h"
#include "audio/stage.h"
#include "audio/wav.h"

namespace continuo::audio {

struct FinishOptions {
  std::optional<int> sample_rate;  // default: as it is
  std::optional<int> channels;     // 1 or 2; default: as it is
  std::optional<double> loudness;  // LUFS
  std::optional<GateOptions> gate;
  std::optional<LoopOptions> loop;       // with no fades
  double fade_in = 0.0, fade_out = 0.0;  // seconds
  bool keep_level = false;               // for long pieces, see keep_level() in audio/loudness.h
  double level_rest = 0.0;               // seconds at the beginning that are not touched: a recording that is continued
  std::vector<double> level_anew{};      // seconds at which another prompt begins, with a level of its own
  /// Of the limiter. 0 is full scale; -1 leaves lossy formats, whose decoders overshoot, and converters some room.
  double ceiling_db = -1.0;
};

inline constexpr double min_loudness = -40.0, max_loudness = -5.0;  // LUFS
inline constexpr double max_fade_seconds = 600.0;
inline constexpr double min_gate_db = -100.0, max_gate_db = -20.0;

/// What cannot be: a number out of range, a loop with fades.
Status check_finish(const FinishOptions& options);

/// What was done, for who wants to say so.
struct FinishReport {
  std::int64_t replaced = 0;       // samples that were not finite
  std::optional<double> was_lufs;  // before the gain; none for silence or when no loudness was wanted
  std::optional<double> is_lufs;   // what it became, before fades: softer than wanted where much had to be limited
  double gain_db = 0.0;
  double limited_db = 0.0;            // by how much at most the limiter turned down, 0 if it never did
  std::int64_t crossfade_frames = 0;  // of a loop
};

/// Frames that come out of `frames` at a rate (without a loop).
std::int64_t finished_frames(std::int64_t frames, int from_rate, const FinishOptions& options);

/// For a stream of `total` frames at `rate` (total is only needed to fade out). Errors: a loop, and whatever check_finish() says.
Result<Chain> finishing_chain(const FinishOptions& options, int channels, int rate, std::int64_t total);

/// For a whole sound: two passes. report: may be null.
Result<Sound> finish_sound(Sound sound, const FinishOptions& options, FinishReport* report = nullptr);

}  // namespace continuo::audio
