#include "audio/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace continuo::audio {
namespace {

Sound sine(double hertz, int rate, int frames, int channels = 1, double amplitude = 0.5) {
  Sound sound{{}, channels, rate};
  for (int i = 0; i < frames; ++i) {
    for (int c = 0; c < channels; ++c) {
      sound.samples.push_back(static_cast<float>(amplitude * std::sin(2.0 * std::numbers::pi * hertz * i / rate)));
    }
  }
  return sound;
}

TEST(Channels, MeanAndDuplicate) {
  const Sound stereo{{0.5F, -0.25F, 1.0F, 1.0F}, 2, 8000};
  EXPECT_EQ(with_channels(stereo, 1).samples, (std::vector<float>{0.125F, 1.0F}));
  EXPECT_EQ(with_channels(stereo, 2).samples, stereo.samples);
  const Sound mono{{0.5F, -0.25F}, 1, 8000};
  EXPECT_EQ(with_channels(mono, 2).samples, (std::vector<float>{0.5F, 0.5F, -0.25F, -0.25F}));
  EXPECT_EQ(with_channels(mono, 2).channels, 2);
  EXPECT_EQ(with_channels(mono, 1).samples, mono.samples);
}

TEST(Resampling, KeepsTimeAndLevel) {
  for (const auto& [from, to] :
       {std::pair{44'100, 32'000}, {48'000, 32'000}, {16'000, 32'000}, {8'000, 32'000}, {32'000, 44'100}}) {
    for (const int channels : {1, 2}) {
      const auto sound = resampled(sine(440.0, from, 2 * from + 7, channels), to);
      ASSERT_TRUE(sound) << sound.error().message;
      EXPECT_EQ(sound->channels, channels);
      EXPECT_EQ(sound->sample_rate, to);
      EXPECT_EQ(sound->frames(), static_cast<std::int64_t>(std::ceil((2.0 * from + 7.0) * to / from)));
      const Sound want = sine(440.0, to, static_cast<int>(sound->frames()), channels);
      // Away from the ends, where the sine begins and stops.
      const auto margin = static_cast<std::size_t>(to / 10 * channels);
      double worst = 0.0;
      for (std::size_t i = margin; i + margin < want.samples.size(); ++i) {
        worst = std::max(worst, static_cast<double>(std::abs(sound->samples[i] - want.samples[i])));
      }
      EXPECT_LT(worst, 1e-5) << from << " to " << to;
    }
  }
}

TEST(Resampling, RemovesWhatTheNewRateCannotHold) {
  const auto sound = resampled(sine(15'000.0, 44'100, 44'100), 16'000);
  ASSERT_TRUE(sound);
  for (std::size_t i = 2000; i < 14'000; ++i) ASSERT_LT(std::abs(sound->samples[i]), 1e-4F);
}

TEST(Resampling, LongWaysInPieces) {
  const auto sound = resampled(sine(5.0, 172, 172 * 20, 2), 32'000);  // many calls of the resampler
  ASSERT_TRUE(sound) << sound.error().message;
  const Sound want = sine(5.0, 32'000, 32'000 * 20, 2);
  ASSERT_EQ(sound->samples.size(), want.samples.size());
  for (std::size_t i = 64'000; i + 64'000 < want.samples.size(); ++i) ASSERT_NEAR(sound->samples[i], want.samples[i], 1e-5) << i;
}

TEST(Resampling, ShortSounds) {
  for (const int frames : {1, 2, 3, 10, 100}) {
    for (const int rate : {8'000, 31'999, 32'000, 96'000}) {
      const auto sound = resampled(sine(100.0, 16'000, frames, 2), rate);
      ASSERT_TRUE(sound);
      EXPECT_EQ(sound->frames(), (static_cast<std::int64_t>(frames) * rate + 15'999) / 16'000);
    }
  }
  EXPECT_EQ(resampled(sine(100.0, 32'000, 77), 32'000)->samples, sine(100.0, 32'000, 77).samples);
  EXPECT_EQ(resampled({{}, 1, 8'000}, 32'000)->frames(), 0);
}

}  // namespace
}  // namespace continuo::audio
