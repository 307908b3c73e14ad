// Audio of any kind that FFmpeg reads.
//
// What is read is one file, nothing else: FFmpeg gets bytes, never a name, and may open no file and no address itself, so a
// playlist cannot point it elsewhere. Its first audio stream is decoded. More than two channels are mixed down to two, scaled so
// that the mix cannot exceed full scale; one and two channels keep their samples as they are (integers become value /
// 2^(bits-1)). Damaged packets are skipped, as players do; a file of which nothing can be decoded, or whose samples are not
// finite, is an error. Lengths are limited before and while decoding, so that a small file cannot fill the memory.
#pragma once

#include <cstddef>
#include <limits>
#include <span>
#include <string>

#include "audio/wav.h"
#include "base/error.h"

namespace continuo::audio {

struct MediaLimits {
  double seconds = 600.0;            // longer files are refused
  std::size_t samples = 1ULL << 26;  // so are those with more samples in all channels together: 256 MiB
  /// Only so many seconds from the beginning are wanted; what follows is not decoded, and files may then have any length.
  double first_seconds = std::numeric_limits<double>::infinity();
};

/// The whole sound at its own rate, with 1 or 2 channels and at least one sample. `name` stands for the file in messages.
Result<Sound> decode_media(std::span<const std::byte> bytes, const std::string& name, const MediaLimits& limits = {});
Result<Sound> read_media(const std::string& path, const MediaLimits& limits = {});

/// The end of a sound. What was left out before it is a whole number of seconds, so that the end at another rate is the end of
/// the whole at that rate.
struct SoundEnd {
  Sound sound;
  std::int64_t skipped_seconds = 0;

  /// Of the whole at a rate, as resampled() makes it.
  std::int64_t whole_frames(int rate) const;
};

/// Longer files are not worth the wait: all of a file is decoded, because only so is its end found exactly.
inline constexpr double max_seconds_before_end = 4 * 3600.0;

/// At least the last `seconds`, or all there is. Memory grows with `seconds`, not with the length of the file.
Result<SoundEnd> decode_media_end(std::span<const std::byte> bytes, const std::string& name, double seconds);
Result<SoundEnd> read_media_end(const std::string& path, double seconds);

}  // namespace continuo::audio
