#include "cli/outputs.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

namespace continuo::cli {
namespace {

TEST(Outputs, NamesFromPrompts) {
  EXPECT_EQ(slug("Lofi beat, with a soft PIANO!"), "lofi-beat-with-a-soft-piano");
  EXPECT_EQ(slug("one two three four five six seven"), "one-two-three-four-five-six");
  EXPECT_EQ(slug("80's synth/../../etc"), "80s-synth-etc");
  EXPECT_EQ(slug(""), "music");
  EXPECT_EQ(slug(" ... \n\t"), "music");
  EXPECT_EQ(slug("轻快的钢琴曲，小提琴"), "轻快的钢琴曲-小提琴");
  EXPECT_EQ(slug("Café 🎹 noir"), "café-noir");
  EXPECT_EQ(slug("\u202Etxt"), "txt");
}

TEST(Outputs, NamesStayShortAndWhole) {
  EXPECT_LE(slug(std::string(5000, 'a')).size(), 48U);
  std::string long_word;
  for (int i = 0; i < 100; ++i) long_word += "音";
  EXPECT_EQ(slug(long_word).size() % 3, 0U);  // never half a character
}

TEST(Outputs, NumbersComeBeforeTheEnding) {
  EXPECT_EQ(numbered("song.wav", 1), "song-1.wav");
  EXPECT_EQ(numbered("out.d/song.wav", 12), "out.d/song-12.wav");
  EXPECT_EQ(numbered("out.d/song", 2), "out.d/song-2");
  EXPECT_EQ(numbered("/a/b.c.wav", 3), "/a/b.c-3.wav");
}

TEST(Outputs, OurOwnNamesNeverReplaceAnything) {
  const auto folder = std::filesystem::temp_directory_path() / ("continuo_outputs_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::string path = folder / "a.wav";
  EXPECT_EQ(unused(path), path);
  std::ofstream(path) << "x";
  EXPECT_EQ(unused(path), folder / "a_2.wav");
  std::ofstream(folder / "a_2.wav") << "x";
  EXPECT_EQ(unused(path), folder / "a_3.wav");
  EXPECT_TRUE(check_writable(path).has_value());
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 2);  // the check leaves nothing behind
  EXPECT_FALSE(check_writable(folder / "no" / "a.wav").has_value());
  EXPECT_FALSE(check_writable(folder).has_value());
  std::filesystem::remove_all(folder);
}

TEST(Outputs, DefaultNames) {
  EXPECT_EQ(default_outputs("", {"a b"}, 7, false), (std::vector<std::string>{"a-b-7.wav"}));
  EXPECT_EQ(default_outputs("d/", {"a", "a", ""}, 7, true),
            (std::vector<std::string>{"d/a-7-1.wav", "d/a-7-2.wav", "d/music-7-3.wav"}));
}

TEST(Outputs, OnlyWav) {
  EXPECT_TRUE(check_is_wav_name("a.wav").has_value());
  EXPECT_TRUE(check_is_wav_name("a").has_value());
  EXPECT_FALSE(check_is_wav_name("a.MP3").has_value());
  EXPECT_FALSE(check_is_wav_name("x/a.flac").has_value());
}

}  // namespace
}  // namespace continuo::cli
