// Whose frames go through the codec between two steps. Pieces that started together complete their chunks in the same step; if
// all of them were decoded at once, every stream would stand still for as long as that takes. So a turn has a limit, and who has
// waited longest goes first. Arithmetic alone, as the scheduler: no clock, no model.
#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "engine/scheduler.h"

namespace continuo::engine {

inline constexpr int shared_frames = 8;  // of a piece in a turn beside others

/// A piece with frames that may go now.
struct CodecDue {
  JobId id = 0;
  int frames = 0;      // that would go
  int backlog = 0;     // all that wait, these included
  bool first = false;  // its listener has heard nothing yet
  double dry_in = std::numeric_limits<double>::infinity();
  int waited = 0;  // turns that passed it over
};

/// What a turn may decode: what `pieces` running pieces make in a step, so that nobody falls behind, and at least one piece's
/// share; more only after audio prompts, whose frames come many at a time.
int codec_limit(int pieces, int backlog);

/// Those that go, in order: who is close to running dry, then first sounds, then who has waited longest. Shares are
/// whole, so the last one may pass the limit: if they had to stay below it, less would go than is made.
std::vector<JobId> codec_turn(std::span<const CodecDue> due, int pieces);

}  // namespace continuo::engine
