// What every stage promises (audio/stage.h), and what each does.
#include "audio/stages.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <numbers>
#include <random>

#include "audio/limiter.h"
#include "audio/loudness.h"
#include "audio/noise_gate.h"
#include "audio/resample.h"

namespace continuo::audio {
namespace {

constexpr int rate = 8000;

std::vector<float> sine(double hertz, std::int64_t frames, double amplitude, int channels = 1, int at_rate = rate) {
  std::vector<float> samples;
  for (std::int64_t i = 0; i < frames; ++i) {
    const double value = amplitude * std::sin(2.0 * std::numbers::pi * hertz * static_cast<double>(i) / at_rate);
    samples.insert(samples.end(), static_cast<std::size_t>(channels), static_cast<float>(value));
  }
  return samples;
}

/// Loud and soft, with peaks beyond full scale.
std::vector<float> noise(std::size_t count) {
  std::mt19937 random(11);
  std::vector<float> samples;
  for (std::size_t i = 0; i < count; ++i) {
    const float loud = i / 3000 % 3 == 0 ? 2.0F : i / 3000 % 3 == 1 ? 0.3F : 0.001F;
    samples.push_back(loud * (static_cast<float>(random()) / 2147483648.0F - 1.0F));
  }
  return samples;
}

Chain alone(std::unique_ptr<Stage> stage, int channels = 1) {
  Chain chain(channels);
  chain.add(std::move(stage));
  return chain;
}

std::vector<float> through(std::unique_ptr<Stage> stage, const std::vector<float>& samples, int channels = 1) {
  auto out = alone(std::move(stage), channels).run(samples);
  EXPECT_TRUE(out) << out.error().message;
  return *out;
}

struct Kind {
  const char* name;
  std::function<std::unique_ptr<Stage>()> make;  // for two channels
};

std::vector<Kind> every_stage() {
  RidingOptions quick = keep_level();
  quick.reference_seconds = 0.5;
  RidingOptions changing = quick;
  changing.rest_seconds = 0.3;
  changing.anew = {0.7};
  return {{"repair", [] { return std::make_unique<Repair>(); }},
          {"stereo to mono", [] { return std::make_unique<ChannelMix>(2, 1); }},
          {"gain", [] { return std::make_unique<Gain>(0.3); }},
          {"fades", [] { return std::make_unique<Fades>(2, 700, 900, 12'000); }},
          {"gate", [] { return std::make_unique<NoiseGate>(2, rate, GateOptions{-40.0}); }},
          {"limiter", [] { return std::make_unique<Limiter>(2, rate, LimiterOptions{}); }},
          {"rider", [] { return std::move(*loudness_rider(2, rate, ride_to(-16.0))); }},
          {"keeper", [quick] { return std::move(*loudness_rider(2, rate, quick)); }},
          {"keeper of several", [changing] { return std::move(*loudness_rider(2, rate, changing)); }},
          {"up", [] { return std::move(*stream_resampler(2, rate, 11'025)); }},
          {"down", [] { return std::move(*stream_resampler(2, 48'000, 44'100)); }}};
}

TEST(Stages, PiecesDoNotMatter) {
  const auto samples = noise(24'000);
  for (const Kind& kind : every_stage()) {
    const auto whole = through(kind.make(), samples, 2);
    for (const std::size_t piece : {2UL, 46UL, 1000UL, 6002UL}) {
      Chain chain = alone(kind.make(), 2);
      std::vector<float> out;
      for (std::size_t at = 0; at < samples.size(); at += piece) {
        const auto part = chain.push(std::span(samples).subspan(at, std::min(piece, samples.size() - at)));
        ASSERT_TRUE(part);
        out.insert(out.end(), part->begin(), part->end());
      }
      const auto rest = chain.finish();
      out.insert(out.end(), rest->begin(), rest->end());
      EXPECT_EQ(out, whole) << kind.name << " in pieces of " << piece;
    }
  }
}

TEST(Stages, SilenceStaysSilenceAndLengthsStay) {
  for (const Kind& kind : every_stage()) {
    const std::string name = kind.name;
    for (const std::size_t frames : {0UL, 1UL, 2UL, 3UL, 50UL, 20'000UL}) {
      const auto out = through(kind.make(), std::vector<float>(2 * frames), 2);
      EXPECT_TRUE(std::all_of(out.begin(), out.end(), [](float sample) { return sample == 0.0F; })) << name;
      const double ratio = name == "up" ? 11'025.0 / rate : name == "down" ? 44'100.0 / 48'000.0 : 1.0;
      const auto want = static_cast<std::size_t>(std::llround(static_cast<double>(frames) * ratio));
      EXPECT_EQ(out.size(), name == "stereo to mono" ? want : 2 * want) << name << frames;
    }
  }
}

TEST(Stages, PartOfAFrameIsAnError) {
  Chain chain = alone(std::make_unique<Repair>(), 2);
  EXPECT_FALSE(chain.push(std::vector<float>(3)));
}

TEST(Repair, ReplacesAndCounts) {
  auto repair = std::make_unique<Repair>();
  const Repair& repaired = *repair;
  const float infinite = std::numeric_limits<float>::infinity();
  Chain chain = alone(std::move(repair));
  EXPECT_EQ(*chain.push(std::vector<float>{0.5F, NAN, infinite, -infinite, -2.0F}), (std::vector<float>{0.5F, 0, 0, 0, -2.0F}));
  EXPECT_EQ(repaired.replaced(), 3);
}

TEST(ChannelMix, CopiesAndAverages) {
  EXPECT_EQ(through(std::make_unique<ChannelMix>(1, 2), {0.5F, -1.0F}), (std::vector<float>{0.5F, 0.5F, -1.0F, -1.0F}));
  EXPECT_EQ(through(std::make_unique<ChannelMix>(2, 1), {1.0F, 1.0F, 0.5F, -0.25F}, 2), (std::vector<float>{1.0F, 0.125F}));
}

TEST(Fades, RiseAndFallLikeEachOther) {
  const std::vector<float> ones(1000, 1.0F);
  const auto out = through(std::make_unique<Fades>(1, 100, 200, 1000), ones);
  EXPECT_LT(out.front(), 1e-3F);
  EXPECT_LT(out.back(), 1e-3F);
  EXPECT_NEAR(out[49], 0.5F, 0.01F);
  EXPECT_NEAR(out[899], 0.5F, 0.01F);
  for (std::size_t i = 100; i < 800; ++i) ASSERT_EQ(out[i], 1.0F);
  for (std::size_t i = 1; i < 100; ++i) ASSERT_GT(out[i], out[i - 1]);
  for (std::size_t i = 801; i < 1000; ++i) ASSERT_LT(out[i], out[i - 1]);
  const auto backwards = through(std::make_unique<Fades>(1, 200, 100, 1000), ones);
  EXPECT_TRUE(std::equal(out.begin(), out.end(), backwards.rbegin()));
  // Longer than announced: silent.
  EXPECT_EQ(through(std::make_unique<Fades>(1, 0, 10, 990), ones).back(), 0.0F);
  // Longer than the sound: both count.
  for (const float sample : through(std::make_unique<Fades>(1, 5000, 5000, 1000), ones)) ASSERT_LT(sample, 0.3F);
}

TEST(NoiseGate, CutsHissAndKeepsSoundFromItsFirstSample) {
  std::vector<float> samples = noise(30'000);
  for (float& sample : samples) sample = 0.001F * std::clamp(sample, -1.0F, 1.0F);  // -60 dB at most
  const auto tone = sine(440.0, 8000, 0.5);
  for (std::size_t i = 0; i < tone.size(); ++i) samples[10'000 + i] += tone[i];
  const auto out = through(std::make_unique<NoiseGate>(1, rate, GateOptions{-46.0}), samples);
  const auto ahead = static_cast<std::size_t>(0.002 * rate);
  for (std::size_t i = 0; i + ahead < 10'000; ++i) ASSERT_EQ(out[i], 0.0F);
  for (std::size_t i = 10'001; i < 18'000; ++i) ASSERT_EQ(out[i], samples[i]) << i;
  const auto closed = static_cast<std::size_t>(18'000 + 0.16 * rate);  // hold and release
  for (std::size_t i = closed; i < out.size(); ++i) ASSERT_EQ(out[i], 0.0F);
  // No jump on the way down: a step of the gain, times what is left.
  for (std::size_t i = 18'001; i < closed; ++i) ASSERT_LT(std::abs(out[i]), 0.0011F);
}

TEST(NoiseGate, DoesNotFlutterNearItsThreshold) {
  // A tone that swells between 2 dB above and 4 dB below the threshold: once open it stays.
  std::vector<float> samples = sine(500.0, 32'000, 1.0);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const double db = -41.0 + 3.0 * std::sin(2.0 * std::numbers::pi * 2.0 * static_cast<double>(i) / rate);
    samples[i] *= static_cast<float>(db_to_gain(db));
  }
  const auto open = [&](double hysteresis) {
    GateOptions options{-40.0, hysteresis};
    options.hold_seconds = 0.01;
    const auto out = through(std::make_unique<NoiseGate>(1, rate, options), samples);
    std::size_t same = 0;
    for (std::size_t i = 8000; i < out.size(); ++i) same += out[i] == samples[i] ? 1 : 0;
    return static_cast<double>(same) / 24'000.0;
  };
  EXPECT_EQ(open(6.0), 1.0);
  EXPECT_LT(open(0.0), 0.9);
}

TEST(StreamResampler, EqualsTheWholeAndKeepsTime) {
  for (const auto& [from, to] : {std::pair{32'000, 44'100}, {32'000, 48'000}, {48'000, 32'000}, {44'100, 32'000}}) {
    const Sound sound{noise(2 * 20'011), 2, from};
    const auto whole = resampled(sound, to);
    const auto stream = through(std::move(*stream_resampler(2, from, to)), sound.samples, 2);
    ASSERT_EQ(stream.size() / 2, static_cast<std::size_t>(std::llround(20'011.0 * to / from)));
    double worst = 0.0;
    for (std::size_t i = 0; i < std::min(stream.size(), whole->samples.size()); ++i)
      worst = std::max(worst, std::abs(static_cast<double>(stream[i]) - whole->samples[i]));
    EXPECT_LT(worst, 1e-6) << from << to;
  }
}

TEST(StreamResampler, KnowsTheRateItHas) {
  const auto samples = noise(100);
  EXPECT_EQ(through(std::move(*stream_resampler(1, 32'000, 32'000)), samples), samples);
}

TEST(StreamResampler, GivesOutputOnTheWay) {
  Chain chain = alone(std::move(*stream_resampler(1, 32'000, 48'000)));
  std::size_t made = 0;
  for (int i = 0; i < 100; ++i) made += chain.push(std::vector<float>(3200, 0.5F))->size();
  EXPECT_GT(made, 480'000 - 24'000U);  // at most half a second is inside
}

}  // namespace
}  // namespace continuo::audio
