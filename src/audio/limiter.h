// A look-ahead limiter.
//
// No sample of the output exceeds the ceiling, whatever comes in, by construction: the gain at a sample is the mean of values
// none of which exceeds what that sample may have. Where the sound stays below the ceiling the gain is exactly 1, and samples
// pass bit for bit, so a limiter may always be in the way.
//
// 1. The peak of a frame: its samples, and the sound between the samples on both its sides, interpolated at quarters (a converter
//    makes these peaks too; ITU-R BS.1770 annex 2 measures them the same way). What it may have: ceiling / peak, at most 1.
// 2. The minimum of that over the look-ahead that follows: the gain falls before a peak comes.
// 3. It rises back with the release time: every value stays at or below that minimum.
// 4. The mean over a window as long as the look-ahead, twice (two boxes, together a triangle): no corners. Every value under it
//    looked as far ahead as the frame.
// Gains are whole numbers of 2^-30, so that sums are exact: nothing drifts over hours, and pieces do not matter.
#pragma once

#include <cstdint>
#include <deque>

#include "audio/stage.h"

namespace continuo::audio {

struct LimiterOptions {
  double ceiling_db = -1.0;  // of full scale
  double look_ahead_seconds = 0.005;
  double release_seconds = 0.08;
};

class Limiter : public Stage {
 public:
  Limiter(int channels, int rate, const LimiterOptions& options);
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>& out) override;
  /// The smallest gain so far, 1 if it never had to act.
  double smallest_gain() const { return smallest_gain_; }

 private:
  /// Sum over the last `length` values, all of them `start` at the beginning.
  class Box {
   public:
    Box(std::size_t length, std::int64_t start);
    std::int64_t add(std::int64_t value);

   private:
    std::vector<std::int64_t> ring_;
    std::size_t at_ = 0;
    std::int64_t sum_;
  };
  struct Step {
    std::int64_t frame;
    double allowed;
  };

  void step(const float* frame, std::vector<float>& out);
  float peak_between(const float* frame);
  double minimum_ahead(double allowed);

  std::size_t channels_;
  float ceiling_;
  std::int64_t window_;   // frames of the look-ahead, the present one included
  std::int64_t latency_;  // frames between push and output
  double release_;        // part of the way back to 1 in a frame

  std::vector<float> delay_;    // the last latency_ + 1 frames, a ring
  std::vector<float> history_;  // [channels, 2 x taps]: twice the same ring, so that the last samples always lie in a row
  std::size_t history_at_ = 0;
  float last_between_ = 0.0F;
  std::deque<Step> minima_;  // rising, the first is the minimum of the window
  double gain_ = 1.0;
  Box first_, second_;
  double unit_;  // second_'s sum when every gain is 1
  std::int64_t frames_ = 0;
  double smallest_gain_ = 1.0;
};

}  // namespace continuo::audio
