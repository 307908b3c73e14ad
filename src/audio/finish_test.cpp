#include "audio/finish.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>
#include <random>

#include "audio/loudness.h"
#include "audio/stages.h"

namespace continuo::audio {
namespace {

Sound tone(double seconds, double amplitude, int rate = 32'000, int channels = 1, double hertz = 997.0) {
  Sound sound{{}, channels, rate};
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double value = amplitude * std::sin(2.0 * std::numbers::pi * hertz * i / rate);
    sound.samples.insert(sound.samples.end(), static_cast<std::size_t>(channels), static_cast<float>(value));
  }
  return sound;
}

/// Soft noise with bursts far above it, as drums have.
Sound drums(double seconds, int rate = 32'000) {
  std::mt19937 random(9);
  Sound sound{{}, 1, rate};
  for (int i = 0; i < static_cast<int>(seconds * rate); ++i) {
    const double since = std::fmod(static_cast<double>(i) / rate, 0.5);
    const double white = static_cast<double>(random()) / 2147483648.0 - 1.0;
    sound.samples.push_back(static_cast<float>(white * (0.02 + 0.5 * std::exp(-8.0 * since))));
  }
  return sound;
}

float peak_of(const Sound& sound) {
  float peak = 0.0F;
  for (const float sample : sound.samples) peak = std::max(peak, std::abs(sample));
  return peak;
}

TEST(Finish, WithoutWishesItIsTheSameSound) {
  const Sound sound = tone(1.0, 0.5, 32'000, 2);
  FinishReport report;
  const auto done = finish_sound(sound, {}, &report);
  ASSERT_TRUE(done);
  EXPECT_EQ(done->samples, sound.samples);
  EXPECT_EQ(report.limited_db, 0.0);
}

TEST(Finish, BringsChannelsRateAndLoudnessTogether) {
  FinishOptions options;
  options.sample_rate = 44'100;
  options.channels = 2;
  options.loudness = -16.0;
  for (const double amplitude : {0.003, 0.1, 0.9}) {
    FinishReport report;
    const auto done = finish_sound(tone(3.0, amplitude), options, &report);
    ASSERT_TRUE(done) << done.error().message;
    EXPECT_EQ(done->sample_rate, 44'100);
    EXPECT_EQ(done->channels, 2);
    EXPECT_EQ(done->frames(), 3 * 44'100);
    EXPECT_NEAR(*integrated_loudness(*done), -16.0, 0.05);
    EXPECT_NEAR(report.gain_db, -16.0 - gain_to_db(amplitude), 0.1);  // of a tone in both channels: its level
  }
}

TEST(Finish, LimitsOnlyWhatMustBe) {
  FinishOptions options;
  options.loudness = -12.0;
  FinishReport report;
  const auto loud = finish_sound(drums(4.0), options, &report);
  EXPECT_GT(report.limited_db, 1.0);
  EXPECT_LE(peak_of(*loud), static_cast<float>(db_to_gain(-1.0)));
  EXPECT_NEAR(*integrated_loudness(*loud), *report.is_lufs, 1e-6);
  EXPECT_NEAR(*report.is_lufs, -12.0, 1.5);
  options.loudness = -30.0;
  const auto soft = finish_sound(drums(4.0), options, &report);
  EXPECT_EQ(report.limited_db, 0.0);
  EXPECT_NEAR(*integrated_loudness(*soft), -30.0, 0.05);
  // One gain and nothing else.
  const auto gain = static_cast<float>(db_to_gain(report.gain_db));
  const Sound before = drums(4.0);
  for (std::size_t i = 0; i < before.samples.size(); ++i) ASSERT_EQ(soft->samples[i], before.samples[i] * gain);
}

TEST(Finish, IsNeverOverFullScale) {
  FinishOptions options;
  options.ceiling_db = 0.0;
  options.sample_rate = 48'000;
  for (const double amplitude : {1.0, 1.7, 100.0}) {
    const auto done = finish_sound(tone(0.5, amplitude, 32'000, 2, 8000.0), options);
    EXPECT_LE(peak_of(*done), 1.0F);
    EXPECT_GT(peak_of(*done), 0.9F);
  }
}

TEST(Finish, SilenceAndBadSamples) {
  FinishOptions options;
  options.loudness = -16.0;
  options.sample_rate = 48'000;
  options.gate = GateOptions{};
  options.keep_level = true;
  options.fade_out = 0.5;
  FinishReport report;
  const auto silent = finish_sound({std::vector<float>(64'000), 2, 32'000}, options, &report);
  ASSERT_TRUE(silent);
  EXPECT_EQ(silent->samples, std::vector<float>(96'000));
  EXPECT_FALSE(report.was_lufs);
  Sound bad = tone(1.0, 0.1);
  bad.samples[500] = NAN;
  bad.samples[600] = std::numeric_limits<float>::infinity();
  const auto repaired = finish_sound(bad, options, &report);
  EXPECT_EQ(report.replaced, 2);
  for (const float sample : repaired->samples) ASSERT_TRUE(std::isfinite(sample));
  for (const std::size_t frames : {0UL, 1UL, 2UL, 10UL}) {
    const auto tiny = finish_sound({std::vector<float>(frames, 0.25F), 1, 32'000}, options);
    ASSERT_TRUE(tiny) << tiny.error().message;
    EXPECT_EQ(tiny->frames(), std::llround(static_cast<double>(frames) * 1.5));
  }
}

TEST(Finish, ALoopIsLimitedAsItIsHeard) {
  // Full of peaks, so that the limiter works across the seam.
  FinishOptions options;
  options.loop = LoopOptions{0.3, 0.2, std::nullopt};
  options.loudness = -14.0;
  options.sample_rate = 44'100;
  FinishReport report;
  const auto loop = finish_sound(tone(3.123, 0.5, 32'000, 1, 211.0), options, &report);
  ASSERT_TRUE(loop);
  EXPECT_GT(report.crossfade_frames, 0);
  const auto& samples = loop->samples;
  double inside = 0.0;
  for (std::size_t i = 1; i < samples.size(); ++i)
    inside = std::max(inside, std::abs(static_cast<double>(samples[i]) - samples[i - 1]));
  EXPECT_LE(std::abs(static_cast<double>(samples.front()) - samples.back()), inside);

  // Loud only at the beginning: the end turns down before it.
  Sound loud_start = drums(3.0);
  options.loudness = -8.0;
  const auto limited = finish_sound(loud_start, options, &report);
  EXPECT_GT(report.limited_db, 1.0);
  FinishOptions again;
  again.loop = LoopOptions{0.3, 0.2, std::nullopt};
  EXPECT_LE(peak_of(*limited), static_cast<float>(db_to_gain(-1.0)));
}

TEST(Finish, TheStreamIsTheClipWhereNothingMustBeKnownBefore) {
  FinishOptions options;
  options.sample_rate = 48'000;
  options.channels = 2;
  options.gate = GateOptions{-50.0};
  options.fade_in = 0.1;
  options.fade_out = 0.2;
  const Sound sound = drums(2.0);
  const auto whole = finish_sound(sound, options);
  auto chain = finishing_chain(options, 1, 32'000, sound.frames());
  ASSERT_TRUE(chain) << chain.error().message;
  std::vector<float> stream;
  for (std::size_t at = 0; at < sound.samples.size(); at += 641) {
    const auto part = chain->push(std::span(sound.samples).subspan(at, std::min<std::size_t>(641, sound.samples.size() - at)));
    stream.insert(stream.end(), part->begin(), part->end());
  }
  const auto rest = chain->finish();
  stream.insert(stream.end(), rest->begin(), rest->end());
  EXPECT_EQ(stream, whole->samples);
  EXPECT_EQ(static_cast<std::int64_t>(stream.size()) / 2, finished_frames(sound.frames(), 32'000, options));
}

TEST(Finish, AStreamComesToItsLoudnessBelowTheCeiling) {
  FinishOptions options;
  options.loudness = -14.0;
  auto chain = finishing_chain(options, 1, 32'000, 0);
  const Sound sound = drums(20.0);
  const auto out = chain->run(sound.samples);
  EXPECT_LE(peak_of({*out, 1, 32'000}), static_cast<float>(db_to_gain(-1.0)));
  EXPECT_NEAR(*integrated_loudness({std::vector<float>(out->end() - 32'000 * 6, out->end()), 1, 32'000}), -14.0, 2.0);
}

TEST(Finish, RefusesWhatCannotBe) {
  const auto refused = [](auto change) {
    FinishOptions options;
    change(options);
    const auto done = finish_sound({std::vector<float>(100), 1, 32'000}, options);
    return !done && done.error().code == ErrorCode::invalid_argument;
  };
  EXPECT_TRUE(refused([](FinishOptions& options) { options.channels = 3; }));
  EXPECT_TRUE(refused([](FinishOptions& options) { options.sample_rate = 10; }));
  EXPECT_TRUE(refused([](FinishOptions& options) { options.loudness = 0.0; }));
  EXPECT_TRUE(refused([](FinishOptions& options) { options.loudness = NAN; }));
  EXPECT_TRUE(refused([](FinishOptions& options) { options.fade_in = -1.0; }));
  EXPECT_TRUE(refused([](FinishOptions& options) { options.ceiling_db = 1.0; }));
  EXPECT_TRUE(refused([](FinishOptions& options) {
    options.loop = LoopOptions{};
    options.fade_out = 1.0;
  }));
  FinishOptions loop;
  loop.loop = LoopOptions{};
  EXPECT_FALSE(finishing_chain(loop, 1, 32'000, 1000));
}

}  // namespace
}  // namespace continuo::audio
