// In which form somebody wants a recording: as data alone, so that requests can be read without what makes renditions.
#pragma once

#include <optional>
#include <string>

#include "audio/encoder.h"
#include "audio/finish.h"

namespace continuo::server {

struct RenditionFormat {
  audio::FileFormat format = audio::FileFormat::wav;
  audio::SampleFormat samples = audio::SampleFormat::pcm16;
  int bit_rate = 0;
  audio::FinishOptions finish;
  /// As a file, not as a stream (media/rendition.h).
  bool whole = false;

  /// The same for equal formats, else different: the key of a cache, and an ETag with the take's id.
  std::string key() const;
  /// Whether it is made as a file, so that nothing of it can be read before all of it.
  bool made_whole() const;
  /// Of a sample; none of lossy formats.
  std::optional<int> bits() const;
};

/// What links call it: "ogg" for opus, else its name.
const char* extension_of(audio::FileFormat format);

}  // namespace continuo::server
