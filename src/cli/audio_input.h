// Recordings that a command is given: read, brought to the model's channels and its codec's rate, checked. A recording that is
// shorter than asked for, or silent, is used, and a note on standard error says so.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "audio/wav.h"
#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::cli {

/// What a piece begins with: the end of a recording.
struct AudioPrompt {
  std::string path;
  std::vector<float> samples;  // [frames x hop, channels]
  int frames = 0;
  double seconds = 0.0;
};

Result<audio::Sound> read_for_codec(const std::string& path, const weights::ModelConfig& config);

/// The last `last` seconds, or all of it, as whole frames: what does not fill a frame is dropped at the beginning, so that the
/// recording is continued exactly where it ends. It must leave something to make of a piece of whole_seconds.
Result<AudioPrompt> read_audio_prompt(const std::string& path, std::optional<double> last, double whole_seconds,
                                      const weights::ModelConfig& config);

/// The loudest pitch class of each spectrum of a recording, at most as many as the model hears. An error for a model that cannot
/// follow a melody.
Result<std::vector<int>> read_melody(const std::string& path, const weights::ModelConfig& config);

}  // namespace continuo::cli
