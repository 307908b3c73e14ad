#include "engine/steady_level.h"

#include <gtest/gtest.h>

namespace continuo::engine {
namespace {

weights::ModelConfig half_minute() {
  weights::ModelConfig config;
  config.codec.sample_rate = 32'000;
  config.codec.ratios = {8, 5, 4, 4};
  config.decoder.max_frames = 1500;
  return config;
}

Request relay(std::initializer_list<Segment> segments) {
  Request request;
  request.segments = segments;
  return request;
}

TEST(SteadyLevel, WindowsAreNeededBeyondTheFirst) {
  const auto config = half_minute();
  Request request;
  request.seconds = 30.0;
  EXPECT_FALSE(needs_windows(request, config));
  request.seconds = 30.02;
  EXPECT_TRUE(needs_windows(request, config));
  EXPECT_FALSE(needs_windows(relay({{"a", 20.0, Join::continued}, {"b", 10.0, Join::continued}}), config));
  EXPECT_TRUE(needs_windows(relay({{"a", 20.0, Join::continued}, {"b", 11.0, Join::continued}}), config));
  // Pieces of their own, each within a window.
  EXPECT_FALSE(needs_windows(relay({{"a", 20.0, Join::continued}, {"b", 30.0, Join::crossfaded}}), config));
  EXPECT_TRUE(
      needs_windows(relay({{"a", 20.0, Join::continued}, {"b", 20.0, Join::crossfaded}, {"b", 11.0, Join::continued}}), config));
}

TEST(SteadyLevel, AnotherPromptHasALevelOfItsOwn) {
  audio::FinishOptions options;
  const auto request = relay({{"a", 10.0}, {"a", 5.0}, {"b", 20.0}, {"a", 1.0}});
  keep_level_of(request, 3.0, options);
  EXPECT_TRUE(options.keep_level);
  EXPECT_EQ(options.level_rest, 3.0);
  EXPECT_EQ(options.level_anew, (std::vector<double>{15.0, 35.0}));
}

}  // namespace
}  // namespace continuo::engine
