// WAV files: what continuo writes, and enough of a reader for our own tests and checks.
//
// Writing: samples are floats with full scale at +-1. For the integer formats a sample is scaled by 2^(bits-1), clamped while it
// is still a float, and then rounded to the nearest integer: a model's output may exceed full scale, and clamping after the
// conversion would wrap around. The 32-bit float format stores the samples as they are, beyond full scale too. Samples that are
// not finite are refused in every format. A file appears complete or not at all.
// Reading: every size is checked against the file before it is used; a truncated or contradictory file is an error.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace continuo::audio {

enum class SampleFormat { pcm16, pcm24, float32 };

/// "16", "24", "32f", as on the command line.
std::optional<SampleFormat> sample_format_from_name(std::string_view name);

int bytes_of_sample(SampleFormat format);

/// An integer of that many bits, clamped before the conversion.
std::int32_t quantised(float sample, int bits);

struct Sound {
  std::vector<float> samples;  // [frames, channels]
  int channels = 1;
  int sample_rate = 0;

  std::int64_t frames() const { return channels > 0 ? static_cast<std::int64_t>(samples.size()) / channels : 0; }
};

/// What stands before the samples; their bytes are followed by a zero if they are an odd number. Without `frames` the sizes say
/// "unknown" (all ones), which players of streams understand. Errors: as encode_wav.
Result<std::vector<std::byte>> wav_header(std::optional<std::int64_t> frames, int channels, int sample_rate, SampleFormat format);
void append_samples(std::vector<std::byte>& out, std::span<const float> samples, SampleFormat format);
/// Samples alone. Errors: one that is not finite.
Result<std::vector<std::byte>> encode_samples(std::span<const float> samples, SampleFormat format);

/// Names the first sample that is not finite, counted from `before`.
Status check_finite(std::span<const float> samples, std::int64_t before = 0);

/// The bytes of a whole WAV file. samples: [frames, channels], channels 1 or 2. Errors: a sample that is not finite (named by
/// its place), more than a WAV file's 32-bit sizes can hold.
Result<std::vector<std::byte>> encode_wav(std::span<const float> samples, int channels, int sample_rate, SampleFormat format);

Status write_wav(const std::string& path, std::span<const float> samples, int channels, int sample_rate, SampleFormat format);

/// Integer PCM of 16, 24 and 32 bits and 32-bit float, up to 8 channels. Integers become value / 2^(bits-1).
/// `name` stands for the file in messages.
Result<Sound> decode_wav(std::span<const std::byte> bytes, const std::string& name);

Result<Sound> read_wav(const std::string& path);

}  // namespace continuo::audio
