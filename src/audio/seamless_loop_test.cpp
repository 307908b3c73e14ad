#include "audio/seamless_loop.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

namespace continuo::audio {
namespace {

constexpr int rate = 16'000;

Sound noise(double seconds, int channels = 1) {
  std::mt19937 random(3);
  Sound sound{{}, channels, rate};
  std::vector<double> last(static_cast<std::size_t>(channels));
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    for (double& value : last) {
      value += 0.05 * (static_cast<double>(random()) / 2147483648.0 - 1.0 - value);
      sound.samples.push_back(static_cast<float>(2.0 * value));
    }
  }
  return sound;
}

/// Clicks at a tempo, each a short decaying tone, and a hum.
Sound beats(double seconds, double period) {
  Sound sound{{}, 1, rate};
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double t = static_cast<double>(i) / rate, since = std::fmod(t, period);
    sound.samples.push_back(static_cast<float>(0.6 * std::exp(-30.0 * since) * std::sin(2.0 * std::numbers::pi * 300.0 * since) +
                                               0.05 * std::sin(2.0 * std::numbers::pi * 50.0 * t)));
  }
  return sound;
}

double largest_step(const Sound& sound) {
  double most = 0.0;
  const auto channels = static_cast<std::size_t>(sound.channels);
  for (std::size_t i = channels; i < sound.samples.size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(sound.samples[i]) - sound.samples[i - channels]));
  return most;
}

double seam(const Sound& sound, int channel = 0) {
  return std::abs(static_cast<double>(sound.samples[sound.samples.size() - static_cast<std::size_t>(sound.channels - channel)]) -
                  sound.samples[static_cast<std::size_t>(channel)]);
}

double power(const Sound& sound, std::int64_t begin, std::int64_t end) {
  double sum = 0.0;
  for (std::int64_t i = begin; i < end; ++i)
    sum += std::pow(static_cast<double>(sound.samples[static_cast<std::size_t>(i)]), 2.0);
  return sum / static_cast<double>(end - begin);
}

TEST(SeamlessLoop, HasNoClickAtItsSeam) {
  for (const int channels : {1, 2}) {
    for (const double crossfade : {0.02, 0.5, 2.0}) {
      const Sound clip = noise(5.0, channels);
      const auto loop = seamless_loop(clip, {crossfade, 0.5, std::nullopt});
      ASSERT_TRUE(loop);
      for (int channel = 0; channel < channels; ++channel)
        EXPECT_LE(seam(loop->sound, channel), largest_step(clip)) << crossfade << channel;
      EXPECT_LE(largest_step(loop->sound), 1.5 * largest_step(clip));
      EXPECT_GT(seam(clip), 0.0);
    }
  }
}

TEST(SeamlessLoop, IsTheClipItselfBehindTheCrossfade) {
  const Sound clip = noise(4.0);
  const auto loop = seamless_loop(clip, {0.5, 0.0, std::nullopt});
  EXPECT_EQ(loop->crossfade, rate / 2);
  ASSERT_EQ(loop->sound.frames(), clip.frames() - rate / 2);
  EXPECT_TRUE(std::equal(loop->sound.samples.begin() + rate / 2, loop->sound.samples.end(), clip.samples.begin() + rate / 2));
}

TEST(SeamlessLoop, KeepsThePowerWhateverTheLikeness) {
  const Sound clip = noise(6.0);
  const auto unlike = seamless_loop(clip, {1.5, 0.0, std::nullopt});
  EXPECT_NEAR(unlike->likeness, 0.0, 0.2);
  EXPECT_NEAR(power(unlike->sound, 0, 24'000) / power(clip, 0, clip.frames()), 1.0, 0.25);
  const Sound same = beats(6.0, 0.5);
  const auto alike = seamless_loop(same, {1.5, 0.0, std::nullopt});
  EXPECT_GT(alike->likeness, 0.99);
  EXPECT_NEAR(power(alike->sound, 4000, 20'000) / power(same, 4000, 20'000), 1.0, 0.02);
}

TEST(SeamlessLoop, PutsBeatsOnBeats) {
  const Sound clip = beats(6.3, 0.5);
  const auto loop = seamless_loop(clip, {1.0, 0.6, std::nullopt});
  EXPECT_GT(loop->likeness, 0.99);
  EXPECT_NEAR(static_cast<double>(loop->sound.frames() % (rate / 2)), 0.0, 2.0);  // whole beats
  EXPECT_LT(seamless_loop(clip, {1.0, 0.0, std::nullopt})->likeness, 0.5);
}

TEST(SeamlessLoop, OfAGivenLength) {
  const Sound clip = noise(5.0);
  EXPECT_EQ(seamless_loop(clip, {0.5, 1.0, 4.0})->sound.frames(), 4 * rate);
  EXPECT_EQ(seamless_loop(clip, {0.5, 1.0, 4.5})->sound.frames(), 9 * rate / 2);
  EXPECT_FALSE(seamless_loop(clip, {0.5, 1.0, 4.6}));
  EXPECT_FALSE(seamless_loop(clip, {0.5, 1.0, 0.1}));
}

TEST(SeamlessLoop, ShortClipsAndSilence) {
  for (const std::size_t frames : {0UL, 1UL, 3UL, 4UL, 5UL, 100UL, 4000UL}) {
    const auto loop = seamless_loop({std::vector<float>(frames, 0.5F), 1, rate});
    ASSERT_TRUE(loop);
    EXPECT_EQ(loop->sound.samples.empty(), frames == 0);
    for (const float sample : loop->sound.samples) EXPECT_NEAR(sample, 0.5F, 1e-6F) << frames;
  }
  const auto silent = seamless_loop({std::vector<float>(3 * rate), 1, rate});
  EXPECT_EQ(silent->sound.samples, std::vector<float>(2 * rate));
}

}  // namespace
}  // namespace continuo::audio
