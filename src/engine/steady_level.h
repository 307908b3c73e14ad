// What keeps the level of a long piece steady. A piece longer than the model's window is made in windows that each hear the end
// of the one before, and may drift louder or softer from one to the next; it can be held at the loudness of its first seconds
// (audio/loudness.h). What one window holds needs nothing.
#pragma once

#include "audio/finish.h"
#include "engine/engine.h"

namespace continuo::engine {

/// Whether some sequence of codes of the request is longer than the model's window.
bool needs_windows(const Request& request, const weights::ModelConfig& config);

/// Sets what keeps the level of such a piece. given_seconds: of a recording that it begins with, which is not touched.
void keep_level_of(const Request& request, double given_seconds, audio::FinishOptions& options);

}  // namespace continuo::engine
