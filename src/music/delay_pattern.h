// The delay pattern (Copet et al., 2023, section 2.2): codebook k is written delays[k] steps late, so that one step predicts one
// code of each codebook, of different frames. Step s hears column s and writes column s + 1; column 0 and every place without a
// frame hold the special id. N frames take N + largest delay steps.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace continuo::music {

class DelayPattern {
 public:
  DelayPattern(std::vector<int> delays, int frames) : delays_(std::move(delays)), frames_(frames) {}

  int codebooks() const { return static_cast<int>(delays_.size()); }
  int frames() const { return frames_; }
  int largest_delay() const { return *std::max_element(delays_.begin(), delays_.end()); }
  int steps() const { return frames_ + largest_delay(); }

  /// The frame whose code step `step` writes for codebook k, or -1 where the pattern has none.
  int frame_written(int step, int k) const;
  /// The frame whose code stands in the column that step `step` hears, or -1 for the special id.
  int frame_heard(int step, int k) const { return frame_written(step - 1, k); }
  /// Frames that are complete in every codebook after `steps` steps.
  int complete_frames(int steps) const { return std::clamp(steps - largest_delay(), 0, frames_); }

 private:
  std::vector<int> delays_;
  int frames_;
};

}  // namespace continuo::music
