// A sound's way to a model's channels and rate.
#pragma once

#include "audio/wav.h"
#include "base/error.h"

namespace continuo::audio {

/// Two channels to one: their mean. One to two: the same twice, at the same level. sound.channels and channels: 1 or 2.
Sound with_channels(Sound sound, int channels);

/// At another rate, by soxr at its very high quality; ceil(frames x rate / sound.sample_rate) frames, the first at the same
/// moment.
Result<Sound> resampled(Sound sound, int rate);

}  // namespace continuo::audio
