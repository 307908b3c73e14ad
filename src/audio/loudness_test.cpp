#include "audio/loudness.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "audio/stages.h"

namespace continuo::audio {
namespace {

constexpr int rate = 16'000;

/// 1 kHz, at a level in dB of full scale. At 0 dB that is -3.01 LUFS in one channel (BS.1770's own calibration).
void add_tone(std::vector<float>& samples, double seconds, double db, int at_rate = rate) {
  const double amplitude = db_to_gain(db);
  const auto frames = static_cast<std::size_t>(seconds * at_rate);
  for (std::size_t i = 0; i < frames; ++i)
    samples.push_back(
        static_cast<float>(amplitude * std::sin(2.0 * std::numbers::pi * 997.0 * static_cast<double>(i) / at_rate)));
}

std::vector<float> ridden(const std::vector<float>& samples, const RidingOptions& options) {
  Chain chain(1);
  chain.add(std::move(*loudness_rider(1, rate, options)));
  auto out = chain.run(samples);
  EXPECT_EQ(out->size(), samples.size());
  return *out;
}

/// Of [begin, end) in seconds.
double loudness_of(const std::vector<float>& samples, double begin, double end) {
  const auto at = [&](double seconds) { return samples.begin() + static_cast<std::ptrdiff_t>(seconds * rate); };
  return *integrated_loudness({std::vector<float>(at(begin), at(end)), 1, rate});
}

TEST(Loudness, OfAToneIsKnown) {
  for (const int at_rate : {32'000, 44'100, 48'000}) {
    for (const double db : {0.0, -20.0, -40.0}) {
      std::vector<float> samples;
      add_tone(samples, 2.0, db, at_rate);
      EXPECT_NEAR(*integrated_loudness({samples, 1, at_rate}), db - 3.01, 0.1);
      std::vector<float> both;
      for (const float sample : samples) both.insert(both.end(), 2, sample);
      EXPECT_NEAR(*integrated_loudness({both, 2, at_rate}), db, 0.1);
    }
  }
}

TEST(Loudness, OfShortSoundsAndSilence) {
  std::vector<float> samples;
  add_tone(samples, 0.2, -20.0);
  EXPECT_NEAR(*integrated_loudness({samples, 1, rate}), -23.0, 0.3);
  for (const std::size_t frames : {0UL, 1UL, 100UL, 100'000UL})
    EXPECT_EQ(*integrated_loudness({std::vector<float>(frames), 1, rate}), -INFINITY);
  EXPECT_EQ(*integrated_loudness({{0.5F}, 1, rate}), -INFINITY);
}

TEST(Loudness, TruePeakIsBetweenTheSamples) {
  std::vector<float> samples;
  for (int i = 0; i < 4000; ++i) samples.push_back(i % 4 < 2 ? 0.5F : -0.5F);  // a sine of amplitude 0.71
  EXPECT_NEAR(*true_peak({samples, 1, 48'000}), 0.707, 0.08);
  EXPECT_EQ(*true_peak({std::vector<float>(100), 2, 48'000}), 0.0);
}

TEST(Rider, ReachesItsTargetSlowly) {
  std::vector<float> samples;
  add_tone(samples, 20.0, -30.0);
  const auto out = ridden(samples, ride_to(-16.0));
  EXPECT_NEAR(loudness_of(out, 0.0, 0.5), -32.5, 0.7);  // it begins as it is
  EXPECT_NEAR(loudness_of(out, 3.8, 4.2), -33.0 + 2.0 * 3.9, 0.5);
  EXPECT_NEAR(loudness_of(out, 12.0, 20.0), -16.0, 0.2);
  RidingOptions known = ride_to(-16.0);
  known.start_db = 17.0;
  EXPECT_NEAR(loudness_of(ridden(samples, known), 0.0, 0.5), -16.0, 0.2);
}

TEST(Rider, RestsInSilenceAndPauses) {
  std::vector<float> samples;
  add_tone(samples, 12.0, -20.0);
  samples.resize(samples.size() + 8 * rate);
  add_tone(samples, 4.0, -20.0);
  add_tone(samples, 2.0, -45.0);  // a pause, not a softer piece: not yet
  const auto out = ridden(samples, ride_to(-16.0));
  for (std::size_t i = 12 * rate; i < 20 * rate; ++i) ASSERT_EQ(out[i], 0.0F);
  EXPECT_NEAR(loudness_of(out, 20.0, 20.5), -16.0, 0.6);
  EXPECT_NEAR(loudness_of(out, 24.0, 24.5), -16.0 - 25.0, 1.5);
}

TEST(Rider, KeepsItsLimits) {
  std::vector<float> samples;
  add_tone(samples, 30.0, -55.0);
  EXPECT_NEAR(loudness_of(ridden(samples, ride_to(-16.0)), 25.0, 30.0), -58.0 + 20.0, 0.2);
}

TEST(Keeper, HoldsWhatTheFirstSecondsHad) {
  std::vector<float> samples;
  add_tone(samples, 10.0, -20.0);
  for (int i = 0; i < 40; ++i) add_tone(samples, 1.0, -20.0 - 0.1 * i);  // drifts down by 4 dB
  add_tone(samples, 20.0, -24.0);
  const auto out = ridden(samples, keep_level());
  EXPECT_NEAR(loudness_of(out, 0.0, 10.0), -23.0, 0.1);
  for (double at = 10.0; at < 65.0; at += 5.0) EXPECT_NEAR(loudness_of(out, at, at + 5.0), -23.0, 0.8) << at;
  EXPECT_NEAR(loudness_of(out, 65.0, 70.0), -23.0, 0.2);
}

TEST(Keeper, ChangesByAtMostSixDecibelsAndHalfOneASecond) {
  std::vector<float> samples;
  add_tone(samples, 10.0, -30.0);
  add_tone(samples, 40.0, -10.0);
  const auto out = ridden(samples, keep_level());
  EXPECT_NEAR(loudness_of(out, 48.0, 50.0), -13.0 - 6.0, 0.1);
  EXPECT_GT(loudness_of(out, 11.0, 13.0), -13.0 - 1.6);
  double before = 0.0;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (std::abs(samples[i]) < 0.01F) continue;
    const double gain = gain_to_db(static_cast<double>(out[i]) / samples[i]);
    ASSERT_LE(std::abs(gain - before), 0.002) << i;  // no steps
    before = gain;
  }
}

TEST(Keeper, WaitsForTheFirstSound) {
  std::vector<float> samples(10 * rate);
  add_tone(samples, 10.0, -20.0);
  const auto out = ridden(samples, keep_level());
  EXPECT_NEAR(loudness_of(out, 12.0, 20.0), -23.0, 0.1);
}

TEST(Keeper, LeavesARecordingAloneAndFollowsItsEnd) {
  std::vector<float> samples;
  add_tone(samples, 12.0, -40.0);  // the recording: a soft beginning, its last seconds louder
  add_tone(samples, 8.0, -20.0);
  const std::vector<float> recording = samples;
  for (int i = 0; i < 40; ++i) add_tone(samples, 1.0, -20.0 - 0.1 * i);
  RidingOptions options = keep_level();
  options.rest_seconds = 20.0;
  const auto out = ridden(samples, options);
  EXPECT_TRUE(std::equal(recording.begin(), recording.end(), out.begin()));
  for (double at = 20.0; at < 55.0; at += 5.0) EXPECT_NEAR(loudness_of(out, at, at + 5.0), -23.0, 0.8) << at;
}

TEST(Keeper, AnotherPromptKeepsALevelOfItsOwn) {
  std::vector<float> samples;
  add_tone(samples, 15.0, -30.0);
  add_tone(samples, 1.0, -25.0);                                         // on its way
  for (int i = 0; i < 40; ++i) add_tone(samples, 1.0, -20.0 - 0.1 * i);  // then it drifts
  RidingOptions options = keep_level();
  options.anew = {15.0};
  const auto out = ridden(samples, options);
  const auto change = samples.begin() + 15 * rate;
  EXPECT_TRUE(std::equal(samples.begin() + 7 * rate, change, out.begin() + 7 * rate,
                         [](float in, float kept) { return std::abs(in - kept) <= 0.03F * std::abs(in) + 1e-6F; }));
  EXPECT_NEAR(loudness_of(out, 17.0, 23.0), -23.3, 0.3);  // not pulled back to the first
  for (double at = 23.0; at + 5.0 <= 56.0; at += 5.0) EXPECT_NEAR(loudness_of(out, at, at + 5.0), -23.3, 0.9) << at;
  // The same, told while it plays.
  auto stage = *loudness_rider(1, rate, keep_level());
  std::vector<float> told;
  ASSERT_TRUE(stage->push(std::span(samples).first(15 * rate), told));
  stage->listen_anew();
  ASSERT_TRUE(stage->push(std::span(samples).subspan(15 * rate), told));
  EXPECT_NEAR(loudness_of(told, 50.0, 55.0), -23.3, 0.9);
  // Without it the level of the first seconds would be held.
  EXPECT_LT(loudness_of(ridden(samples, keep_level()), 35.0, 40.0), -27.0);
}

}  // namespace
}  // namespace continuo::audio
