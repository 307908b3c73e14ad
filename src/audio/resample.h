// A sound's way to other channels and another rate, as a whole or as a stream.
#pragma once

#include <memory>

#include "audio/stage.h"
#include "audio/wav.h"
#include "base/error.h"

namespace continuo::audio {

/// Two channels to one: their mean. One to two: the same twice, at the same level. sound.channels and channels: 1 or 2.
Sound with_channels(Sound sound, int channels);

/// At another rate, by soxr at its very high quality; ceil(frames x rate / sound.sample_rate) frames, the first at the same
/// moment.
Result<Sound> resampled(Sound sound, int rate);

/// The same for a stream; round(frames x to / from) frames. From a rate to itself it passes everything as it is, without FFmpeg.
Result<std::unique_ptr<Stage>> stream_resampler(int channels, int from, int to);

}  // namespace continuo::audio
