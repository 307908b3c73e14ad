#include "server/media/rendition_query.h"

#include <gtest/gtest.h>

namespace continuo::server {
namespace {

using audio::FileFormat;
using audio::SampleFormat;

RenditionFormat parsed(const std::string& extension, const Query& query, const RenditionFormat& base = {}) {
  const auto format = parse_rendition_query(extension, query, base);
  EXPECT_TRUE(format) << format.error().message;
  return format.value_or(RenditionFormat{});
}

ApiError refused(const std::string& extension, const Query& query) {
  const auto format = parse_rendition_query(extension, query, {});
  EXPECT_FALSE(format) << extension;
  return format ? ApiError{} : format.error();
}

TEST(RenditionQueryTest, NothingIsAsTheFormatIs) {
  EXPECT_EQ(parsed("wav", {}).format, FileFormat::wav);
  EXPECT_EQ(parsed("wav", {}).finish.ceiling_db, 0.0);
  EXPECT_EQ(parsed("ogg", {}).format, FileFormat::opus);
  EXPECT_EQ(parsed("mp3", {}).finish.ceiling_db, -1.0);
  EXPECT_EQ(parsed("m4a", {{"take", "2"}, {"download", "1"}}).format, FileFormat::m4a);
  for (const char* extension : {"pcm", "opus", "aac", "exe", "", "WAV"})
    EXPECT_EQ(refused(extension, {}).status, 404) << extension;
}

TEST(RenditionQueryTest, EveryWish) {
  const auto wav = parsed("wav", {{"rate", "44100"},
                                  {"channels", "2"},
                                  {"bits", "24"},
                                  {"loudness", "-14.5"},
                                  {"gate", "-60"},
                                  {"fade_in", "0.5"},
                                  {"fade_out", "2"}});
  EXPECT_EQ(wav.samples, SampleFormat::pcm24);
  EXPECT_EQ(wav.finish.sample_rate, 44'100);
  EXPECT_EQ(wav.finish.channels, 2);
  EXPECT_EQ(wav.finish.loudness, -14.5);
  EXPECT_EQ(wav.finish.gate->threshold_db, -60.0);
  EXPECT_EQ(wav.finish.fade_in, 0.5);
  EXPECT_EQ(wav.finish.fade_out, 2.0);
  EXPECT_EQ(wav.finish.ceiling_db, -1.0);
  EXPECT_EQ(parsed("wav", {{"bits", "32"}}).samples, SampleFormat::float32);
  EXPECT_EQ(parsed("mp3", {{"bitrate", "192000"}}).bit_rate, 192'000);
  EXPECT_TRUE(parsed("flac", {{"loop", "1"}}).finish.loop);
  EXPECT_FALSE(parsed("flac", {{"loop", "false"}}).finish.loop);
}

TEST(RenditionQueryTest, TheFormThatThePieceWasAskedForInIsKept) {
  RenditionFormat base;
  base.format = FileFormat::mp3;
  base.bit_rate = 128'000;
  base.samples = SampleFormat::float32;
  base.finish.sample_rate = 44'100;
  base.finish.loudness = -14.0;
  base.finish.gate.emplace();
  base.finish.fade_out = 3.0;
  base.whole = true;
  const auto mp3 = parsed("mp3", {}, base);
  EXPECT_EQ(mp3.bit_rate, 128'000);
  EXPECT_EQ(mp3.finish.sample_rate, 44'100);
  EXPECT_EQ(mp3.finish.loudness, -14.0);
  EXPECT_FALSE(mp3.whole);
  EXPECT_EQ(parsed("m4a", {}, base).bit_rate, 0);
  EXPECT_EQ(parsed("wav", {}, base).samples, SampleFormat::float32);
  EXPECT_EQ(parsed("flac", {}, base).samples, SampleFormat::pcm24);
  EXPECT_FALSE(parsed("ogg", {}, base).finish.sample_rate) << "opus has 48000 alone";
  EXPECT_EQ(parsed("mp3", {{"rate", "48000"}}, base).finish.sample_rate, 48'000);
  const auto off = parsed("wav", {{"loudness", "none"}, {"gate", "none"}, {"fade_out", "0"}}, base);
  EXPECT_FALSE(off.finish.loudness || off.finish.gate);
  EXPECT_EQ(off.finish.fade_out, 0.0);
  EXPECT_EQ(off.finish.ceiling_db, 0.0);
  const auto loop = parsed("wav", {{"loop", "1"}}, base);
  EXPECT_TRUE(loop.finish.loop);
  EXPECT_EQ(loop.finish.fade_out, 0.0);
  base.finish.fade_out = 0.0;
  base.finish.loop.emplace();
  EXPECT_FALSE(parsed("wav", {{"fade_in", "1"}}, base).finish.loop);
  EXPECT_TRUE(parsed("wav", {{"fade_in", "0"}}, base).finish.loop);
}

TEST(RenditionQueryTest, WhatIsNotExactlyThatIsRefusedByName) {
  const std::pair<const char*, Query> wavs[] = {
      {"rate", {{"rate", "22050"}}},
      {"rate", {{"rate", "48000.0"}}},
      {"rate", {{"rate", ""}}},
      {"channels", {{"channels", "3"}}},
      {"channels", {{"channels", "+1"}}},
      {"bits", {{"bits", "8"}}},
      {"bitrate", {{"bitrate", "128000"}}},
      {"loudness", {{"loudness", "-3"}}},
      {"loudness", {{"loudness", "nan"}}},
      {"loudness", {{"loudness", "-1e1"}}},
      {"loudness", {{"loudness", "-14 "}}},
      {"gate", {{"gate", "-10"}}},
      {"fade_in", {{"fade_in", "-1"}}},
      {"fade_out", {{"fade_out", "601"}}},
      {"fade_in", {{"fade_in", "none"}}},
      {"fade_in", {{"fade_in", "inf"}}},
      {"loop", {{"loop", "yes"}}},
      {"fadein", {{"fadein", "1"}}},
      {"loop", {{"loop", "1"}, {"fade_in", "1"}}},
  };
  for (const auto& [param, query] : wavs) {
    const ApiError error = refused("wav", query);
    EXPECT_EQ(error.status, 422);
    EXPECT_EQ(error.param, param) << error.message;
  }
  EXPECT_EQ(refused("mp3", {{"bits", "16"}}).param, "bits");
  EXPECT_EQ(refused("flac", {{"bits", "32"}}).param, "bits");
  EXPECT_EQ(refused("ogg", {{"rate", "44100"}}).param, "rate");
  EXPECT_EQ(refused("mp3", {{"bitrate", "1000"}}).param, "bitrate");
  EXPECT_EQ(refused("mp3", {{"bitrate", "128k"}}).param, "bitrate");
  const std::string endless(100'000, 'x');
  EXPECT_LT(refused("wav", {{endless, "1"}}).message.size(), 300U);
  EXPECT_LT(refused("wav", {{"rate", endless}}).message.size(), 300U);
}

}  // namespace
}  // namespace continuo::server
