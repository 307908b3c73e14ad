// generate --stream: one clip, to standard output while it is made.
#pragma once

#include <optional>

#include "audio/stage.h"
#include "cli/audio_input.h"
#include "cli/progress.h"
#include "cli/stream_output.h"
#include "engine/engine.h"

namespace continuo::cli {

struct Streamed {
  engine::Clip clip;
  engine::Timing timing;
  double first_sound_seconds = 0.0;  // from the request to the first samples
};

/// Makes the clip and writes it as it comes; a slow reader pauses the making. recording: what the clip continues and begins with,
/// in its own samples. finish: what is done to the sound on its way out, if anything; the clip is as the model made it. Errors: a
/// reader that leaves, Ctrl-C (cancelled).
Result<Streamed> stream_clip(engine::Engine& engine, const engine::Request& request, const AudioPrompt* recording,
                             const StreamFormat& format, std::optional<audio::Chain> finish, ProgressDisplay& display);

}  // namespace continuo::cli
