// Recordings that a request is given, to be continued or followed as a melody: brought to what the model hears.
#pragma once

#include <span>
#include <vector>

#include "audio/wav.h"
#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::engine {

/// With the model's channels, at its codec's rate. sound: 1 or 2 channels.
Result<audio::Sound> sound_for(audio::Sound sound, const weights::ModelConfig& config);

/// The loudest pitch class of each spectrum (Request::melody), of the first audio::max_melody_seconds and at most as many as the
/// model hears. Errors: a model that cannot follow a melody.
Result<std::vector<int>> melody_of(audio::Sound sound, const weights::ModelConfig& config);

/// Nothing above -80 dB.
bool is_silent(std::span<const float> samples);

}  // namespace continuo::engine
