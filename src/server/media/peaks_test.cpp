#include "server/media/peaks.h"

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using test::Folder;

constexpr float close_enough = 1e-4F;

/// As the header says, sample by sample.
Peaks::Line slow_line(const audio::Sound& sound, int bins, int channel) {
  const std::int64_t blocks = (sound.frames() + 31) / 32;
  Peaks::Line line;
  for (std::int64_t bin = 0; bin < bins; ++bin) {
    const std::int64_t begin = bin * blocks / bins * 32, end = std::min((bin + 1) * blocks / bins * 32, sound.frames());
    float low = 9.0F, high = -9.0F;
    for (std::int64_t i = begin; i < end; ++i) {
      const float value = sound.samples[static_cast<std::size_t>(i * sound.channels + channel)];
      low = std::min(low, value);
      high = std::max(high, value);
    }
    line.low.push_back(low);
    line.high.push_back(high);
  }
  return line;
}

void expect_near(const std::vector<float>& got, const std::vector<float>& want) {
  ASSERT_EQ(got.size(), want.size());
  for (std::size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(got[i], want[i], close_enough) << i;
}

TEST(PeaksTest, AreTheExtremesOfTheirBins) {
  const Folder folder;
  const auto sound = test::rising_tone(100'003, 2);
  const auto recording = test::complete_recording(folder / "take", sound);
  PeakTable table;
  for (const int bins : {1, 7, 1000, 3126}) {
    const auto peaks = table.of("take", recording, bins, true);
    ASSERT_TRUE(peaks) << peaks.error().message;
    EXPECT_EQ(peaks->bins, bins);
    EXPECT_TRUE(peaks->complete);
    ASSERT_EQ(peaks->channels.size(), 2U);
    for (int c = 0; c < 2; ++c) {
      const auto want = slow_line(sound, bins, c);
      expect_near(peaks->channels[static_cast<std::size_t>(c)].low, want.low);
      expect_near(peaks->channels[static_cast<std::size_t>(c)].high, want.high);
    }
    EXPECT_EQ(peaks->all.low.front(), std::min(peaks->channels[0].low.front(), peaks->channels[1].low.front()));
  }
  EXPECT_EQ(table.of("take", recording, 20'000, false)->bins, 3126) << "a bin has a block at least";
  EXPECT_TRUE(table.of("take", recording, 10, false)->channels.empty());
}

TEST(PeaksTest, GrowInPlace) {
  const Folder folder;
  const auto sound = test::rising_tone(64'000);
  const auto recording = test::empty_recording(folder / "take", sound);
  PeakTable table;
  EXPECT_TRUE(table.of("take", recording, 100, false)->all.low.empty());
  const auto want = slow_line(sound, 100, 0);
  std::int64_t at = 0;
  for (const std::int64_t count : {10'000, 17, 1, 22'000}) {
    ASSERT_TRUE(recording->append(test::frames_of(sound, at, count)));
    at += count;
    const auto peaks = table.of("take", recording, 100, false);
    ASSERT_TRUE(peaks);
    EXPECT_FALSE(peaks->complete);
    EXPECT_EQ(peaks->bins, 100);
    EXPECT_NEAR(peaks->seconds, static_cast<double>(at) / 32'000, 1e-9);
    EXPECT_EQ(peaks->duration, 2.0);
    const auto whole = static_cast<std::size_t>(at / 640);
    ASSERT_EQ(peaks->all.low.size(), static_cast<std::size_t>((at + 639) / 640));
    expect_near({peaks->all.high.begin(), peaks->all.high.begin() + static_cast<std::ptrdiff_t>(whole)},
                {want.high.begin(), want.high.begin() + static_cast<std::ptrdiff_t>(whole)});
  }
  ASSERT_TRUE(recording->append(test::frames_of(sound, at, 64'000 - at)));
  ASSERT_TRUE(recording->finish());
  const auto peaks = table.of("take", recording, 100, false);
  EXPECT_TRUE(peaks->complete);
  expect_near(peaks->all.low, want.low);
  expect_near(peaks->all.high, want.high);
}

TEST(PeaksTest, SurviveBadSamplesAndForgetting) {
  const Folder folder;
  auto sound = test::rising_tone(320);
  sound.samples[5] = 7.0F;
  sound.samples[100] = std::numeric_limits<float>::infinity();
  PeakTable table(1);
  const auto first = test::complete_recording(folder / "a", sound), second = test::complete_recording(folder / "b", sound);
  EXPECT_EQ(table.of("a", first, 10, false)->all.high[0], 2.0F);
  EXPECT_TRUE(table.of("b", second, 10, false));
  const auto again = table.of("a", first, 10, false);
  ASSERT_TRUE(again);
  for (const float value : again->all.high) EXPECT_TRUE(std::isfinite(value));
}

TEST(PeaksTest, AsJson) {
  Peaks peaks;
  peaks.bins = 3;
  peaks.all = {{-0.5F, 0.0F}, {0.12345678F, 1.0F}};
  peaks.channels = {peaks.all};
  peaks.seconds = 1.25;
  peaks.duration = 2.5;
  const auto json = nlohmann::json::parse(write_peaks(peaks));
  EXPECT_EQ(json["bins"], 3);
  EXPECT_EQ(json["min"], (nlohmann::json{-0.5, 0.0}));
  EXPECT_EQ(json["max"], (nlohmann::json{0.1235, 1.0}));
  EXPECT_EQ(json["channels"][0]["max"][1], 1.0);
  EXPECT_EQ(json["seconds"], 1.25);
  EXPECT_EQ(json["duration"], 2.5);
  EXPECT_EQ(json["complete"], false);
}

}  // namespace
}  // namespace continuo::server
