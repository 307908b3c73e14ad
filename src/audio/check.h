// What can be heard to be wrong with a piece of audio, whoever made it.
//
// A fault is something that a listener or the next program would trip over: a click, clipping, samples that are not numbers, a
// constant offset, a hole in the sound, a jump in the phase of a sustained tone, silence, a length other than the one asked for.
// What music does itself is none: attacks, stops, square waves, noise, the first and the last sample of the file. Each channel is
// looked at alone. docs/checks.md says how each is recognised, by which limits, and what escapes.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "audio/wav.h"
#include "base/error.h"

namespace continuo::audio {

enum class FaultKind { click, clipping, not_a_number, dc_offset, dropout, stuck, phase_jump, silence, length };

/// "click", "clipping", "nan", "dc", "dropout", "stuck", "phase", "silence", "length".
std::string_view fault_name(FaultKind kind);
/// What the person can do about it.
std::string_view fault_advice(FaultKind kind);

struct Fault {
  FaultKind kind;
  double seconds = 0.0;    // where it begins
  double length = 0.0;     // seconds; 0 for what is a point, or about the whole file
  int channel = -1;        // from 0; -1: all of them
  std::int64_t count = 1;  // how many there are; the place is that of the worst
  double severity = 0.0;   // see `what`
  std::string what = {};   // "a jump of 0.21 where 0.003 is usual"
};

struct ChannelLevel {
  double peak = 0.0;  // of the finite samples, as they are: above 1 is over full scale
  double rms = 0.0;
  double dc = 0.0;        // mean
  std::int64_t over = 0;  // samples beyond full scale
  std::int64_t not_finite = 0;
};

/// How well the sustained tones keep their phase.
struct PhaseContinuity {
  double score = 1.0;          // 0 to 1, mean over all moments that have sustained tones
  double worst = 1.0;          // of the worst moment ...
  double worst_seconds = 0.0;  // ... and where it is
  double tonal_seconds = 0.0;  // of the file, that could be judged
};

struct CheckOptions {
  std::optional<std::int64_t> frames;  // the length that the file must have, to the sample
};

struct CheckReport {
  std::int64_t frames = 0;
  int channels = 0;
  int sample_rate = 0;
  std::vector<ChannelLevel> levels;      // [channels]
  std::optional<PhaseContinuity> phase;  // nothing if no tone is sustained
  std::vector<Fault> faults;             // by place; at most max_faults_listed of each kind and channel
};

inline constexpr std::size_t max_faults_listed = 20;

/// Errors: a sound without samples, a rate outside 8 to 192 kHz, FFmpeg (for the Fourier transform) is missing.
Result<CheckReport> check_sound(const Sound& sound, const CheckOptions& options = {});

/// Whatever FFmpeg reads. WAV files are read as they are, so that samples which are not numbers are found, and a truncated one
/// is an error. At most an hour, and 2^28 samples in all channels together.
Result<Sound> read_for_check(const std::string& path);

}  // namespace continuo::audio
