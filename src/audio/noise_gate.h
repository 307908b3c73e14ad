// A noise gate: silence where there was only hiss. Off unless asked for, because a decay below the threshold is cut off too.
#pragma once

#include <cstdint>

#include "audio/stage.h"

namespace continuo::audio {

struct GateOptions {
  double threshold_db = -60.0;  // a peak above it, in any channel, opens
  double hysteresis_db = 6.0;   // so much lower it must stay to close; else a level near the threshold would flutter
  double attack_seconds = 0.002;
  double hold_seconds = 0.05;  // longer than half a period of the lowest tone, which passes zero without being over
  double release_seconds = 0.1;
};

/// Opens and closes all channels together, along straight lines. It looks ahead by its attack, so that it is open when the
/// sound begins; closed it gives exact zeros.
class NoiseGate : public Stage {
 public:
  NoiseGate(int channels, int rate, const GateOptions& options);
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>& out) override;

 private:
  void step(const float* frame, std::vector<float>& out);

  std::size_t channels_;
  float open_at_, close_at_;
  std::int64_t hold_, ahead_;
  std::int64_t release_, attack_;

  std::vector<float> delay_;  // the last ahead_ frames, a ring
  std::int64_t frames_ = 0;   // pushed
  std::int64_t held_ = 0;     // frames it will yet stay open
  // Gain as a whole number of steps, so that it is exactly 0 and 1 at the ends: position_ / (attack_ * release_).
  std::int64_t position_ = 0;
};

}  // namespace continuo::audio
