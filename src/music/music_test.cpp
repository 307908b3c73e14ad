#include <gtest/gtest.h>

#include <cmath>
#include <map>

#include "base/philox.h"
#include "music/delay_pattern.h"
#include "music/sampling.h"

namespace continuo::music {
namespace {

TEST(DelayPattern, LaysCodesOutAsTheReferenceDoes) {
  const DelayPattern pattern({0, 1, 2, 3}, 5);
  EXPECT_EQ(8, pattern.steps());
  // Rows: codebooks; columns: the frame each step writes. Worked out by hand from the paper's figure 1.
  const int written[4][8] = {
      {0, 1, 2, 3, 4, -1, -1, -1}, {-1, 0, 1, 2, 3, 4, -1, -1}, {-1, -1, 0, 1, 2, 3, 4, -1}, {-1, -1, -1, 0, 1, 2, 3, 4}};
  for (int k = 0; k < 4; ++k) {
    for (int step = 0; step < 8; ++step) {
      EXPECT_EQ(written[k][step], pattern.frame_written(step, k));
      EXPECT_EQ(step == 0 ? -1 : written[k][step - 1], pattern.frame_heard(step, k));
    }
  }
  EXPECT_EQ(0, pattern.complete_frames(3));
  EXPECT_EQ(1, pattern.complete_frames(4));
  EXPECT_EQ(5, pattern.complete_frames(8));
}

TEST(DelayPattern, SharedDelays) {
  const DelayPattern stereo({0, 0, 1, 1, 2, 2, 3, 3}, 2);
  EXPECT_EQ(5, stereo.steps());
  EXPECT_EQ(stereo.frame_written(3, 4), stereo.frame_written(3, 5));
  EXPECT_EQ(1, stereo.frame_written(4, 7));
}

std::map<int, int> draw_many(const std::vector<float>& logits, const SamplingParams& params, int count = 4000) {
  std::map<int, int> histogram;
  for (int i = 0; i < count; ++i) ++histogram[*sample(logits, params, uniform_draw(3, 1, static_cast<std::uint32_t>(i), 0))];
  return histogram;
}

TEST(Sampling, GreedyTakesTheFirstOfEquals) {
  EXPECT_EQ(1, sample(std::vector<float>{0.0F, 2.0F, 2.0F, -1.0F}, {.greedy = true}, 0.99));
  EXPECT_EQ(1, sample(std::vector<float>{0.0F, 2.0F, 2.0F, -1.0F}, {.temperature = 0.0F}, 0.99));
}

TEST(Sampling, FollowsTheProbabilities) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.2F)};
  auto histogram = draw_many(logits, {}, 20000);
  EXPECT_NEAR(histogram[0] / 20000.0, 0.5, 0.015);
  EXPECT_NEAR(histogram[2] / 20000.0, 0.2, 0.015);
  auto cold = draw_many(logits, {.temperature = 0.5F}, 20000);
  EXPECT_NEAR(cold[0] / 20000.0, 0.25 / 0.38, 0.015);
}

TEST(Sampling, TopKKeepsTiesAtItsEdge) {
  const std::vector<float> logits{1.0F, 3.0F, 2.0F, 2.0F, 0.0F};
  auto histogram = draw_many(logits, {.top_k = 2});
  EXPECT_GT(histogram[2], 0);
  EXPECT_GT(histogram[3], 0);
  EXPECT_EQ(0, histogram[0] + histogram[4]);
  EXPECT_EQ(4000, draw_many(logits, {.top_k = 1})[1]);
  EXPECT_EQ(5U, draw_many(logits, {.top_k = 0}).size());
  EXPECT_EQ(5U, draw_many(logits, {.top_k = 5}).size());
}

TEST(Sampling, TopPKeepsTheTokenThatCrossesAndReplacesTopK) {
  const std::vector<float> logits{std::log(0.5F), std::log(0.3F), std::log(0.15F), std::log(0.05F)};
  auto histogram = draw_many(logits, {.top_k = 1, .top_p = 0.6F});
  EXPECT_GT(histogram[1], 0);
  EXPECT_EQ(0, histogram[2] + histogram[3]);
  EXPECT_EQ(1U, draw_many(logits, {.top_p = 0.01F}).size());
  EXPECT_EQ(4U, draw_many(logits, {.top_p = 1.0F}).size());
}

TEST(Sampling, EveryUniformNumberGivesAKeptToken) {
  const std::vector<float> logits{-40.0F, 1.0F, 1.0F, -40.0F};
  EXPECT_EQ(1, sample(logits, {.top_k = 2}, 0.0));
  EXPECT_EQ(2, sample(logits, {.top_k = 2}, std::nextafter(1.0, 0.0)));
}

TEST(Sampling, RefusesNumbersThatAreNotFinite) {
  EXPECT_FALSE(sample(std::vector<float>{0.0F, NAN}, {}, 0.5));
  EXPECT_FALSE(sample(std::vector<float>{0.0F, INFINITY}, {.greedy = true}, 0.5));
}

TEST(Guidance, ExtrapolatesFromTheNullRow) {
  std::vector<float> conditional{1.0F, 2.0F};
  apply_guidance(conditional, std::vector<float>{0.5F, 4.0F}, 3.0F);
  EXPECT_FLOAT_EQ(2.0F, conditional[0]);
  EXPECT_FLOAT_EQ(-2.0F, conditional[1]);
}

}  // namespace
}  // namespace continuo::music
