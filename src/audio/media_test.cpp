#include "audio/media.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>
#include <cstring>
#include <filesystem>
#include <limits>
#include <numbers>
#include <random>

#include "audio/bytes.h"
#include "audio/resample.h"
#include "base/file.h"

namespace continuo::audio {
namespace {

const std::string folder = std::string(CONTINUO_SOURCE_DIR) + "/tests/media/";

Sound sine(double hertz, int rate, int frames, int channels = 1, double amplitude = 0.5) {
  Sound sound{{}, channels, rate};
  for (int i = 0; i < frames; ++i) {
    for (int c = 0; c < channels; ++c) {
      sound.samples.push_back(static_cast<float>(amplitude * std::sin(2.0 * std::numbers::pi * hertz * i / rate)));
    }
  }
  return sound;
}

/// Amplitude of a frequency in a channel, over the middle half of the sound.
double level(const Sound& sound, double hertz, int channel = 0) {
  std::complex<double> sum = 0.0;
  const std::int64_t begin = sound.frames() / 4, end = 3 * sound.frames() / 4;
  for (std::int64_t i = begin; i < end; ++i) {
    const double angle = -2.0 * std::numbers::pi * hertz * static_cast<double>(i) / sound.sample_rate;
    sum += std::polar(1.0, angle) * static_cast<double>(sound.samples[static_cast<std::size_t>(i * sound.channels + channel)]);
  }
  return 2.0 * std::abs(sum) / static_cast<double>(end - begin);
}

std::vector<std::byte> bytes_of(const std::string& path) {
  const auto file = MappedFile::open(path);
  EXPECT_TRUE(file) << path;
  return {file->bytes().begin(), file->bytes().end()};
}

std::vector<std::byte> wav_of(const Sound& sound, SampleFormat format) {
  return *encode_wav(sound.samples, sound.channels, sound.sample_rate, format);
}

TEST(Media, ReadsWavExactly) {
  for (const int channels : {1, 2}) {
    for (const auto format : {SampleFormat::pcm16, SampleFormat::pcm24, SampleFormat::float32}) {
      const auto bytes = wav_of(sine(440.0, 32000, 5001, channels, 0.9), format);
      const auto want = decode_wav(bytes, "x");
      const auto got = decode_media(bytes, "x");
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->sample_rate, 32000);
      EXPECT_EQ(got->channels, channels);
      EXPECT_EQ(got->samples, want->samples);
    }
  }
}

TEST(Media, KeepsWhatExceedsFullScale) {
  const auto sound = decode_media(wav_of({{0.0F, 1.75F, -3.0F, 1e-30F}, 1, 32000}, SampleFormat::float32), "x");
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->samples, (std::vector<float>{0.0F, 1.75F, -3.0F, 1e-30F}));
}

TEST(Media, ReadsAnOddRateAndASingleSample) {
  for (const int rate : {200, 8000, 22'050, 96'000, 192'000}) {
    const auto sound = decode_media(wav_of({{0.25F}, 1, rate}, SampleFormat::float32), "x");
    ASSERT_TRUE(sound) << rate << sound.error().message;
    EXPECT_EQ(sound->sample_rate, rate);
    EXPECT_EQ(sound->samples, std::vector<float>{0.25F});
  }
}

TEST(Media, ReadsCompressedFilesAtTheirRealLength) {
  for (const std::string name : {"tone.mp3", "tone.m4a", "tone.ogg", "tone.opus", "film.mkv"}) {
    const auto sound = read_media(folder + name);
    ASSERT_TRUE(sound) << sound.error().message;
    EXPECT_EQ(sound->channels, 1) << name;
    EXPECT_EQ(sound->sample_rate, name == "tone.opus" ? 48000 : 44100) << name;
    // The encoders' padding is cut off; FFmpeg is not exact about AAC's at the end and Vorbis's at the beginning.
    const double tolerance = name == "tone.m4a" ? 0.025 : name == "tone.ogg" ? 0.005 : 1e-3;
    EXPECT_NEAR(static_cast<double>(sound->frames()) / sound->sample_rate, 0.25, tolerance) << name;
    EXPECT_NEAR(level(*sound, 440.0), 0.5, 0.03) << name;
    EXPECT_LT(level(*sound, 1000.0), 0.01) << name;
  }
}

TEST(Media, KeepsBothChannels) {
  const auto sound = read_media(folder + "tone.flac");
  ASSERT_TRUE(sound) << sound.error().message;
  ASSERT_EQ(sound->channels, 2);
  EXPECT_EQ(sound->frames(), 11025);
  EXPECT_NEAR(level(*sound, 440.0, 0), 0.5, 1e-3);
  EXPECT_NEAR(level(*sound, 440.0, 1), 0.25, 1e-3);
}

TEST(Media, MixesMoreChannelsToStereoBelowFullScale) {
  const auto sound = read_media(folder + "surround.flac");
  ASSERT_TRUE(sound) << sound.error().message;
  ASSERT_EQ(sound->channels, 2);
  EXPECT_NEAR(level(*sound, 440.0, 0), 0.5 / (1.0 + std::sqrt(2.0)), 1e-3);  // left + (centre + surround) / sqrt 2, normalised
  EXPECT_EQ(level(*sound, 440.0, 1), 0.0);
}

TEST(Media, RefusesWhatIsNoAudio) {
  std::vector<std::byte> noise(50'000);
  std::mt19937 random(7);
  for (std::byte& byte : noise) byte = static_cast<std::byte>(random());
  std::vector<std::byte> text;
  for (int i = 0; i < 300; ++i) append_text(text, "these are my notes\n");
  const auto silent = wav_of({{}, 1, 32000}, SampleFormat::pcm16);
  for (const auto& bytes :
       {std::vector<std::byte>{}, std::vector<std::byte>(1), std::vector<std::byte>(5000), noise, text, silent}) {
    const auto sound = decode_media(bytes, "notes.txt");
    ASSERT_FALSE(sound);
    EXPECT_EQ(sound.error().message, "notes.txt is not audio that FFmpeg can read");
  }
  EXPECT_EQ(read_media(folder + "none.wav").error().code, ErrorCode::not_found);
  EXPECT_FALSE(read_media(folder));
}

TEST(Media, SurvivesDamage) {
  std::mt19937 random(3);
  for (const std::string name : {"tone.mp3", "tone.m4a", "tone.ogg", "tone.opus", "tone.flac", "film.mkv"}) {
    const auto whole = bytes_of(folder + name);
    for (int i = 0; i < 60; ++i) {
      auto damaged = whole;
      if (i % 3 == 0) damaged.resize(random() % whole.size());
      for (int k = 0; k < i && !damaged.empty(); ++k) damaged[random() % damaged.size()] = static_cast<std::byte>(random());
      const auto sound = decode_media(damaged, "x");
      if (!sound) continue;
      EXPECT_GT(sound->frames(), 0);
      for (const float sample : sound->samples) ASSERT_TRUE(std::isfinite(sample));
    }
  }
}

TEST(Media, RefusesSamplesThatAreNotFinite) {
  auto bytes = wav_of(sine(440.0, 32000, 100), SampleFormat::float32);
  const float bad = NAN;
  std::memcpy(bytes.data() + bytes.size() - 8, &bad, sizeof bad);
  const auto sound = decode_media(bytes, "x");
  ASSERT_FALSE(sound);
  EXPECT_NE(sound.error().message.find("finite"), std::string::npos);
}

TEST(Media, LimitsLengthsBeforeAndWhileDecoding) {
  const auto bytes = wav_of(sine(440.0, 8000, 24'000), SampleFormat::pcm16);
  EXPECT_TRUE(decode_media(bytes, "x", {3.0}));
  EXPECT_TRUE(decode_media(bytes, "x", {3.0, 24'000}));
  for (const MediaLimits& limits : {MediaLimits{2.9}, {1.0}, {600.0, 23'999}, {600.0, 1000}}) {
    const auto sound = decode_media(bytes, "x", limits);
    ASSERT_FALSE(sound);
    EXPECT_NE(sound.error().message.find("too long"), std::string::npos);
  }
  const auto beginning = decode_media(bytes, "x", {1.0, 1ULL << 26, 0.5});
  ASSERT_TRUE(beginning) << beginning.error().message;
  EXPECT_EQ(beginning->frames(), 4000);
  EXPECT_EQ(decode_media(bytes, "x", {1.0, 1ULL << 26, 5.0})->frames(), 24'000);
}

TEST(Media, PlaylistsOpenNothing) {
  const std::string target = folder + "tone.mp3";
  for (const std::string& text :
       {"ffconcat version 1.0\nfile '" + target + "'\n", "#EXTM3U\n#EXTINF:1,\n" + target + "\n#EXT-X-ENDLIST\n",
        "#EXTM3U\n#EXT-X-TARGETDURATION:1\n#EXTINF:1,\nfile:" + target + "\n#EXT-X-ENDLIST\n"}) {
    std::vector<std::byte> bytes;
    append_text(bytes, text);
    EXPECT_FALSE(decode_media(bytes, "x"));
  }
}

TEST(MediaEnd, IsTheEndOfTheWhole) {
  const Sound sound = sine(440.0, 8000, 200'123, 2);  // 25 s
  const auto bytes = wav_of(sound, SampleFormat::float32);
  for (const double seconds : {0.1, 1.0, 3.7, 19.0, 24.9, 30.0}) {
    const auto end = decode_media_end(bytes, "x", seconds);
    ASSERT_TRUE(end) << end.error().message;
    EXPECT_GE(static_cast<double>(end->sound.frames()), std::min(seconds * 8000, 200'123.0)) << seconds;
    EXPECT_LT(static_cast<double>(end->sound.frames()), (seconds + 7.0) * 8000) << seconds;
    EXPECT_EQ(end->skipped_seconds * 8000 + end->sound.frames(), 200'123);
    const auto first = sound.samples.begin() + end->skipped_seconds * 8000 * 2;
    EXPECT_TRUE(std::equal(first, sound.samples.end(), end->sound.samples.begin(), end->sound.samples.end())) << seconds;
  }
}

TEST(MediaEnd, IsItAtAnotherRateToo) {
  const Sound sound = sine(440.0, 44'100, 44'100 * 12 + 77);
  const auto bytes = wav_of(sound, SampleFormat::float32);
  for (const int rate : {32'000, 48'000, 2'000}) {
    const auto end = decode_media_end(bytes, "x", 2.0);
    ASSERT_TRUE(end) << end.error().message;
    ASSERT_GT(end->skipped_seconds, 0);
    const auto whole = resampled(sound, rate), part = resampled(end->sound, rate);
    ASSERT_TRUE(whole && part);
    EXPECT_EQ(end->whole_frames(rate), whole->frames());
    EXPECT_EQ(end->skipped_seconds * rate + part->frames(), whole->frames());
    double worst = 0.0;  // of the last second: before it is what the resampler needs to settle
    for (auto ours = part->samples.rbegin(), theirs = whole->samples.rbegin(); ours != part->samples.rbegin() + rate;
         ++ours, ++theirs)
      worst = std::max(worst, std::abs(static_cast<double>(*ours) - *theirs));
    EXPECT_LT(worst, 1e-7) << rate;
  }
}

TEST(MediaEnd, MayBeOfALongFileWithoutItsMemory) {
  constexpr int rate = 8000, minutes = 11;  // the whole of it would be refused
  const auto bytes = wav_of(sine(440.0, rate, rate * 60 * minutes), SampleFormat::pcm16);
  EXPECT_FALSE(decode_media(bytes, "x"));
  const auto end = decode_media_end(bytes, "x", 10.0);
  ASSERT_TRUE(end) << end.error().message;
  EXPECT_EQ(end->whole_frames(rate), rate * 60 * minutes);
  EXPECT_LT(end->sound.samples.capacity(), static_cast<std::size_t>(2 * (10 + 7) * rate));
}

TEST(MediaEnd, BadSamplesAreFoundWhereverTheyAre) {
  for (const std::size_t at : {100UL, 8000UL * 19}) {
    Sound sound = sine(440.0, 8000, 8000 * 20);
    std::vector<std::byte> bytes = wav_of(sound, SampleFormat::float32);
    const float nan = std::numeric_limits<float>::quiet_NaN();
    std::memcpy(bytes.data() + (bytes.size() - sound.samples.size() * 4) + at * 4, &nan, 4);
    const auto end = decode_media_end(bytes, "x", 2.0);
    ASSERT_FALSE(end) << at;
    EXPECT_NE(end.error().message.find("not finite"), std::string::npos) << end.error().message;
  }
}

}  // namespace
}  // namespace continuo::audio
