// The formats that FFmpeg writes; audio/encoder.h says what they promise.
#pragma once

#include <memory>

#include "audio/encoder.h"

namespace continuo::audio {

Result<std::unique_ptr<Encoder>> make_ffmpeg_encoder(const EncoderOptions& options, ByteSink sink);

}  // namespace continuo::audio
