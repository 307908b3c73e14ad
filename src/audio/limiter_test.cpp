#include "audio/limiter.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <random>

#include "audio/loudness.h"
#include "audio/stages.h"

namespace continuo::audio {
namespace {

std::vector<float> limited(const std::vector<float>& samples, int channels, int rate, const LimiterOptions& options = {}) {
  Chain chain(channels);
  chain.add(std::make_unique<Limiter>(channels, rate, options));
  const auto out = chain.run(samples);
  EXPECT_EQ(out->size(), samples.size());
  return *out;
}

std::vector<float> sine(double hertz, std::size_t frames, double amplitude, int rate, double phase = 0.0) {
  std::vector<float> samples(frames);
  for (std::size_t i = 0; i < frames; ++i)
    samples[i] = static_cast<float>(amplitude * std::sin(phase + 2.0 * std::numbers::pi * hertz * static_cast<double>(i) / rate));
  return samples;
}

float peak_of(const std::vector<float>& samples) {
  float peak = 0.0F;
  for (const float sample : samples) peak = std::max(peak, std::abs(sample));
  return peak;
}

TEST(Limiter, NeverExceedsItsCeiling) {
  std::mt19937 random(1);
  const auto uniform = [&] { return static_cast<float>(random()) / 2147483648.0F - 1.0F; };
  for (const double ceiling : {0.0, -1.0, -12.0}) {
    for (const int rate : {100, 8000, 32'000}) {
      for (const int kind : {0, 1, 2, 3}) {
        std::vector<float> samples(20'000);
        for (std::size_t i = 0; i < samples.size(); ++i) {
          switch (kind) {
            case 0: samples[i] = 5.0F * uniform(); break;
            case 1: samples[i] = random() % 500 == 0 ? 1e6F * uniform() : 0.1F * uniform(); break;  // lone peaks
            case 2: samples[i] = i % 2 == 0 ? 3e38F : -3e38F; break;                                // as large as floats are
            default: samples[i] = static_cast<float>(i) * 1e-3F; break;                             // ever louder
          }
        }
        LimiterOptions options;
        options.ceiling_db = ceiling;
        for (const int channels : {1, 2}) {
          const auto out = limited(samples, channels, rate, options);
          ASSERT_LE(peak_of(out), static_cast<float>(db_to_gain(ceiling))) << kind << " " << rate;
          if (kind != 2) {  // 180 dB above it nothing can be left
            EXPECT_GT(peak_of(out), 0.0F);
          }
        }
      }
    }
  }
}

TEST(Limiter, DoesNothingBelowItsCeiling) {
  const auto samples = sine(997.0, 40'000, 0.7, 32'000);  // that it ends at once makes a peak, too
  EXPECT_EQ(limited(samples, 2, 32'000), samples);
  // And nothing long after a peak.
  std::vector<float> with_peak = samples;
  with_peak[1000] = 4.0F;
  const auto out = limited(with_peak, 1, 32'000);
  EXPECT_NE(out[1100], samples[1100]);
  EXPECT_TRUE(std::equal(out.end() - 2000, out.end(), samples.end() - 2000));
}

TEST(Limiter, TurnsDownBeforeThePeakWithoutCorners) {
  const std::vector<float> ones(8000, 0.5F);
  auto samples = ones;
  samples[4000] = 2.0F;
  const auto out = limited(samples, 1, 32'000);
  EXPECT_EQ(out[4000 - 170], 0.5F);  // 5 ms and the interpolation
  EXPECT_LT(out[4000 - 10], 0.28F);  // there before the peak is: 0.5 x 0.89 / 2
  EXPECT_NEAR(out[4000], db_to_gain(-1.0), 0.01);
  for (std::size_t i = 4001; i < out.size(); ++i) ASSERT_LT(std::abs(out[i] - out[i - 1]), i == 4001 ? 1.0F : 0.01F) << i;
  for (std::size_t i = 1; i < 4000; ++i) ASSERT_LT(std::abs(out[i] - out[i - 1]), 0.01F) << i;
}

TEST(Limiter, KeepsTheImageOfBothChannels) {
  auto left = sine(300.0, 8000, 2.0, 32'000), right = sine(300.0, 8000, 0.5, 32'000);
  std::vector<float> samples;
  for (std::size_t i = 0; i < left.size(); ++i) samples.insert(samples.end(), {left[i], right[i]});
  const auto out = limited(samples, 2, 32'000);
  for (std::size_t i = 0; i < out.size(); i += 2) ASSERT_NEAR(out[i + 1], out[i] / 4.0F, 1e-6F);
}

TEST(Limiter, ItIsTheGainThatKeepsTheCeiling) {
  // Were peaks cut off, the soft channel would not follow the loud one.
  std::mt19937 random(4);
  std::vector<float> samples;
  for (int i = 0; i < 30'000; ++i) {
    const float uniform = static_cast<float>(random()) / 2147483648.0F - 1.0F;
    const float left = random() % 300 == 0 ? 50.0F * uniform : 0.3F * uniform;
    samples.insert(samples.end(), {left, left / 64.0F});
  }
  const auto out = limited(samples, 2, 32'000);
  for (std::size_t i = 0; i < out.size(); i += 2) ASSERT_NEAR(64.0F * out[i + 1], out[i], 2e-7F) << i;
}

TEST(Limiter, SeesPeaksBetweenSamples) {
  // A quarter of the rate, 45 degrees off: samples at 0.71 of the amplitude.
  for (const double hertz : {8000.0, 7990.0, 5333.0, 12'000.0}) {
    const auto samples = sine(hertz, 32'000, 1.2, 32'000, std::numbers::pi / 4.0);
    const auto peak = true_peak({limited(samples, 1, 32'000), 1, 32'000});
    ASSERT_TRUE(peak);
    EXPECT_LT(gain_to_db(*peak), -0.7) << hertz;
    EXPECT_GT(gain_to_db(*peak), -1.6) << hertz;
  }
}

TEST(Limiter, SaysHowFarItWent) {
  Limiter limiter(1, 32'000, {});
  std::vector<float> out;
  ASSERT_TRUE(limiter.push(std::vector<float>(100, 0.1F), out));
  ASSERT_TRUE(limiter.finish(out));
  EXPECT_EQ(limiter.smallest_gain(), 1.0);
  Limiter busy(1, 32'000, {});
  ASSERT_TRUE(busy.push(sine(300.0, 8000, 2.0, 32'000), out));
  ASSERT_TRUE(busy.finish(out));
  EXPECT_NEAR(gain_to_db(busy.smallest_gain()), -7.02, 0.1);
}

}  // namespace
}  // namespace continuo::audio
