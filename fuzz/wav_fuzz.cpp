// WAV files. What was read survives being written as 32-bit floats and read again, if it is finite.
#include <algorithm>
#include <cmath>

#include "audio/wav.h"
#include "fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const auto sound = audio::decode_wav(std::as_bytes(std::span(data, size)), "input");
  if (!sound) {
    fuzz::check_refusal(sound.error());
    return 0;
  }
  FUZZ_DEMAND(sound->channels >= 1 && sound->channels <= 8 && sound->sample_rate > 0);
  FUZZ_DEMAND(sound->samples.size() % static_cast<std::size_t>(sound->channels) == 0);
  FUZZ_DEMAND(sound->samples.size() <= size);  // a sample takes two bytes or more
  const bool finite = std::all_of(sound->samples.begin(), sound->samples.end(), [](float value) { return std::isfinite(value); });
  if (!finite || sound->channels > 2) return 0;
  const auto written = audio::encode_wav(sound->samples, sound->channels, sound->sample_rate, audio::SampleFormat::float32);
  FUZZ_DEMAND(written.has_value());
  const auto again = audio::decode_wav(*written, "again");
  FUZZ_DEMAND(again && again->samples == sound->samples && again->sample_rate == sound->sample_rate);
  return 0;
}
