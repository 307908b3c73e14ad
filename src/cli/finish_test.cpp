#include "cli/finish.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>

#include "audio/loudness.h"
#include "audio/media.h"

namespace continuo::cli {
namespace {

Result<FinishPlan> plan(const std::string& output, const std::vector<std::pair<std::string, std::string>>& options = {}) {
  Arguments arguments;
  for (const auto& [name, value] : options) arguments.set(name, value);
  return finish_plan(arguments, output, audio::SampleFormat::pcm16);
}

TEST(FinishPlan, EndingsChooseTheFormat) {
  using audio::FileFormat;
  for (const auto& [name, format] : {std::pair{"a.wav", FileFormat::wav},
                                     {"a", FileFormat::wav},
                                     {"a.b/c", FileFormat::wav},
                                     {"a.FLAC", FileFormat::flac},
                                     {"a.mp3", FileFormat::mp3},
                                     {"a.m4a", FileFormat::m4a},
                                     {"a.ogg", FileFormat::opus},
                                     {"a.mp3.opus", FileFormat::opus}}) {
    const auto made = plan(name);
    ASSERT_TRUE(made) << made.error().message;
    EXPECT_EQ(made->format, format) << name;
    EXPECT_EQ(made->as_it_is, !audio::is_lossy(format));
  }
  EXPECT_EQ(plan("a.wma").error().code, ErrorCode::unsupported);
}

TEST(FinishPlan, ReadsItsOptions) {
  const auto made =
      plan("a.wav", {{"rate", "48000"}, {"channels", "2"}, {"loudness", "-16"}, {"gate", "-50"}, {"fade-in", "0.5"}});
  ASSERT_TRUE(made) << made.error().message;
  EXPECT_FALSE(made->as_it_is);
  EXPECT_EQ(made->options.sample_rate, 48'000);
  EXPECT_EQ(made->options.channels, 2);
  EXPECT_EQ(made->options.loudness, -16.0);
  EXPECT_EQ(made->options.gate->threshold_db, -50.0);
  EXPECT_EQ(made->options.fade_in, 0.5);
  EXPECT_EQ(made->options.ceiling_db, -1.0);
  EXPECT_EQ(plan("a.wav", {{"loop", ""}})->options.ceiling_db, 0.0);
}

TEST(FinishPlan, TheRateOfLossyFormats) {
  for (const auto& [name, model, want] : {std::tuple{"a.opus", 32'000, 48'000},
                                          {"a.mp3", 32'000, 0},
                                          {"a.mp3", 16'000, 48'000},
                                          {"a.m4a", 24'000, 48'000},
                                          {"a.flac", 16'000, 0}}) {
    auto made = plan(name);
    const auto status = settle(*made, model, 1);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_EQ(made->options.sample_rate.value_or(0), want) << name << model;
  }
  auto made = plan("a.opus", {{"rate", "44100"}});
  EXPECT_EQ(settle(*made, 32'000, 1).error().code, ErrorCode::invalid_argument);
}

TEST(FinishPlan, TheClipBecomesWhatIsWritten) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("continuo_finish_{}", ::getpid());
  std::filesystem::create_directories(folder);
  engine::Clip clip;
  clip.sample_rate = 32'000;
  for (int i = 0; i < 64'000; ++i) clip.audio.push_back(static_cast<float>(1.5 * std::sin(0.19 * i)));
  const std::string path = folder / "a.flac";
  auto made = plan(path, {{"rate", "44100"}, {"channels", "2"}, {"loudness", "-20"}});
  ASSERT_TRUE(settle(*made, 32'000, 1));
  const auto status = finish_and_write(*made, path, clip);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_EQ(clip.sample_rate, 44'100);
  EXPECT_EQ(clip.channels, 2);
  const auto sound = audio::read_media(path);
  ASSERT_TRUE(sound) << sound.error().message;
  ASSERT_EQ(sound->frames(), 88'200);
  EXPECT_NEAR(*audio::integrated_loudness(*sound), -20.0, 0.1);
  for (std::size_t i = 0; i < clip.audio.size(); ++i) ASSERT_NEAR(sound->samples[i], clip.audio[i], 1.0 / 65'000.0);
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace continuo::cli
