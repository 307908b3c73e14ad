#include "server/requests/audio_query.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace continuo::server {
namespace {

TEST(QueryObject, NumbersAndFlagsButNotInTexts) {
  const auto object = query_object(
      {{"a", "12"}, {"b", "-1.5"}, {"c", "true"}, {"d", ""}, {"e", "1e999"}, {"f", "12x"}, {"q", "12"}, {"g", "nan"}}, {"q"});
  EXPECT_EQ(object, nlohmann::json::parse(
                        R"({"a": 12, "b": -1.5, "c": true, "d": true, "e": "1e999", "f": "12x", "q": "12", "g": "nan"})"));
}

Parsed<AudioQuery> read(const QueryArguments& query, const std::string& extension = "wav", bool has_takes = true) {
  return read_audio_query(query, extension, 32'000, has_takes);
}

TEST(AudioQuery, NothingIsTheTakeAsItIs) {
  const auto plain = read({});
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->format.format, audio::FileFormat::wav);
  EXPECT_EQ(plain->take, 1);
  EXPECT_FALSE(plain->download);
  EXPECT_FALSE(plain->format.finish.sample_rate);
  EXPECT_FALSE(plain->format.whole);
}

TEST(AudioQuery, EverythingThatLinksSay) {
  const auto all = read({{"take", "3"},
                         {"rate", "48000"},
                         {"channels", "2"},
                         {"bits", "24"},
                         {"loudness", "-14"},
                         {"fade_in", "0.5"},
                         {"fade_out", "1"},
                         {"gate", "-60"},
                         {"download", "1"}},
                        "flac");
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->take, 3);
  EXPECT_TRUE(all->download);
  EXPECT_EQ(all->format.format, audio::FileFormat::flac);
  EXPECT_EQ(all->format.samples, audio::SampleFormat::pcm24);
  EXPECT_EQ(all->format.finish.sample_rate, 48'000);
  EXPECT_EQ(all->format.finish.channels, 2);
  EXPECT_EQ(all->format.finish.loudness, -14.0);
  EXPECT_EQ(all->format.finish.fade_in, 0.5);
  EXPECT_EQ(all->format.finish.fade_out, 1.0);
  EXPECT_TRUE(all->format.finish.gate);
  EXPECT_TRUE(read({{"loop", "true"}})->format.finish.loop);
  EXPECT_TRUE(read({{"loop", "1"}})->format.finish.loop);
  EXPECT_FALSE(read({{"loop", "0"}})->format.finish.loop);
  EXPECT_EQ(read({{"sample_rate", "44100"}})->format.finish.sample_rate, 44'100);
  EXPECT_EQ(read({{"bitrate", "128000"}}, "ogg")->format.bit_rate, 128'000);
}

TEST(AudioQuery, WhatIsWrongIsNamed) {
  const auto blamed = [](const QueryArguments& query, const std::string& extension = "wav", bool has_takes = true) {
    const auto result = read(query, extension, has_takes);
    return result ? "nothing" : fmt::format("{} {}", result.error().status, result.error().param);
  };
  EXPECT_EQ(blamed({{"rate", "22050"}}), "422 rate");
  EXPECT_EQ(blamed({{"channels", "3"}}), "422 channels");
  EXPECT_EQ(blamed({{"bits", "24"}}, "mp3"), "422 bits");
  EXPECT_EQ(blamed({{"bitrate", "128000"}}), "422 bitrate");
  EXPECT_EQ(blamed({{"loudness", "loud"}}), "422 loudness");
  EXPECT_EQ(blamed({{"loop", "1"}, {"fade_in", "1"}}), "422 loop");
  EXPECT_EQ(blamed({{"take", "0"}}), "422 take");
  EXPECT_EQ(blamed({{"take", "1"}}, "wav", false), "422 take");
  EXPECT_EQ(blamed({{"format", "mp3"}}), "422 format");
  EXPECT_EQ(blamed({{"ratte", "48000"}}), "422 ratte");
  EXPECT_EQ(blamed({}, "exe"), "404 ");
  EXPECT_EQ(blamed({}, "pcm"), "404 ");
}

}  // namespace
}  // namespace continuo::server
