#include "engine/given_sound.h"

#include <algorithm>
#include <cmath>

#include "audio/chroma.h"
#include "audio/resample.h"

namespace continuo::engine {

Result<audio::Sound> sound_for(audio::Sound sound, const weights::ModelConfig& config) {
  return audio::resampled(audio::with_channels(std::move(sound), config.decoder.audio_channels), config.codec.sample_rate);
}

Result<std::vector<int>> melody_of(audio::Sound sound, const weights::ModelConfig& config) {
  if (!config.is_melody()) {
    return fail(ErrorCode::unsupported, "the model {} cannot follow a melody; use a melody model, such as musicgen-melody",
                config.name);
  }
  CONTINUO_TRY(sound, audio::resampled(audio::with_channels(std::move(sound), 1), config.codec.sample_rate));
  const weights::MelodyConfig& melody = config.melody;
  CONTINUO_TRY(audio::Chroma chroma,
               audio::chroma_of(sound.samples, {config.codec.sample_rate, melody.bins, melody.n_fft, melody.hop, melody.length}));
  return std::move(chroma.classes);
}

bool is_silent(std::span<const float> samples) {
  constexpr float silence = 1e-4F;
  return std::all_of(samples.begin(), samples.end(), [](float sample) { return std::abs(sample) < silence; });
}

}  // namespace continuo::engine
