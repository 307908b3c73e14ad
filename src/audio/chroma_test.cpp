#include "audio/chroma.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>

#include "audio/npy.h"
#include "audio/resample.h"
#include "audio/tunes_test.h"
#include "base/file.h"

namespace continuo::audio {
namespace {

using nlohmann::json;
using testing::play;

const std::string goldens = std::string(CONTINUO_SOURCE_DIR) + "/tests/goldens/";

TEST(Chroma, EqualsTheReference) {
  int cases = 0;
  for (const std::string model : {"melody", "stereo-melody"}) {
    const auto text = read_text_file(goldens + model + "/golden.json", 1 << 20);
    ASSERT_TRUE(text) << text.error().message;
    const json manifest = json::parse(*text);
    for (const json& golden : manifest["chroma"]) {
      ++cases;
      const Sound sound = play(golden);
      const auto audio = resampled(with_channels(sound, 1), 32'000);
      ASSERT_TRUE(audio) << audio.error().message;
      const auto chroma = chroma_of(audio->samples, {});
      ASSERT_TRUE(chroma) << chroma.error().message;
      const std::string name = golden["name"];
      EXPECT_EQ(chroma->classes, golden["classes"].get<std::vector<int>>()) << name;
      const auto levels = read_npy(goldens + model + "/" + golden["levels"].get<std::string>());
      ASSERT_TRUE(levels);
      const auto& want = std::get<std::vector<float>>(levels->values);
      ASSERT_EQ(chroma->levels.size(), want.size()) << name;
      double worst = 0.0;
      for (std::size_t i = 0; i < want.size(); ++i)
        worst = std::max(worst, std::abs(static_cast<double>(chroma->levels[i]) - want[i]));
      // Of other rates only the classes are promised; the resamplers differ.
      EXPECT_LT(worst, sound.sample_rate == 32'000 ? 2e-6 : 2e-3) << name;
    }
  }
  EXPECT_GE(cases, 9);
}

TEST(Chroma, NamesTheNotesOfAScale) {
  for (int semitone = 0; semitone < 12; ++semitone) {
    std::vector<float> audio;
    const double hertz = 261.6256 * std::exp2(semitone / 12.0);
    for (int i = 0; i < 20'000; ++i)
      audio.push_back(static_cast<float>(0.3 * std::sin(2.0 * std::numbers::pi * hertz * i / 32'000.0)));
    EXPECT_EQ(chroma_of(audio, {})->classes, std::vector<int>(5, semitone));
  }
}

TEST(Chroma, FramesAndTheirLimit) {
  for (const std::size_t samples : {0UL, 1UL, 16'383UL, 16'384UL, 20'479UL, 20'480UL, 100'001UL}) {
    const auto chroma = chroma_of(std::vector<float>(samples), {});
    ASSERT_TRUE(chroma);
    EXPECT_EQ(chroma->classes, std::vector<int>(1 + std::max<std::size_t>(samples, 16'384) / 4096, 0)) << samples;
  }
  ChromaOptions options;
  options.most_frames = 7;
  EXPECT_EQ(chroma_of(std::vector<float>(100'000), options)->classes.size(), 7U);
}

TEST(Chroma, OtherSizes) {
  ChromaOptions options;
  options.sample_rate = 2'000;
  options.bins = 24;
  options.n_fft = 1'024;
  options.hop = 100;
  std::vector<float> audio;
  for (int i = 0; i < 4'000; ++i)
    audio.push_back(std::sin(2.0F * std::numbers::pi_v<float> * 440.0F * static_cast<float>(i) / 2'000.0F));
  const auto chroma = chroma_of(audio, options);
  ASSERT_TRUE(chroma) << chroma.error().message;
  EXPECT_EQ(chroma->classes, std::vector<int>(41, 18));  // A, in quarter tones above C
  options.bins = 256;
  options.n_fft = 1 << 20;
  EXPECT_FALSE(chroma_of(audio, options));
}

}  // namespace
}  // namespace continuo::audio
