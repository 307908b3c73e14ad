// Audio through FFmpeg's demuxers and decoders. They are not built with our sanitizers, which see what they write into our
// buffers and nothing else. Does nothing where FFmpeg is missing.
#include <algorithm>
#include <cmath>

#include "audio/media.h"
#include "fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const audio::MediaLimits limits{.seconds = 10.0, .samples = 1U << 20};
  const auto sound = audio::decode_media(std::as_bytes(std::span(data, size)), "input", limits);
  if (!sound) {
    fuzz::check_refusal(sound.error());
    return 0;
  }
  FUZZ_DEMAND(sound->channels == 1 || sound->channels == 2);
  FUZZ_DEMAND(sound->sample_rate > 0 && sound->frames() > 0 && sound->samples.size() <= limits.samples);
  for (const float value : sound->samples) FUZZ_DEMAND(std::isfinite(value));

  const auto end = audio::decode_media_end(std::as_bytes(std::span(data, size)), "input", 0.5);
  FUZZ_DEMAND(end.has_value());  // what can be read whole has an end
  const std::int64_t skipped = end->skipped_seconds * sound->sample_rate;
  FUZZ_DEMAND(skipped + end->sound.frames() == sound->frames() && end->sound.frames() > 0);
  FUZZ_DEMAND(
      std::equal(end->sound.samples.begin(), end->sound.samples.end(), sound->samples.begin() + skipped * sound->channels));
  return 0;
}
