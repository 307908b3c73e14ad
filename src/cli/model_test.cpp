#include "cli/model.h"

#include <gtest/gtest.h>

#include "weights/installed.h"

namespace continuo::cli {
namespace {

/// The sizes of the published small model.
weights::ModelConfig small_model() {
  weights::ModelConfig config;
  config.decoder.width = 1024;
  config.decoder.layers = 24;
  config.decoder.heads = 16;
  config.decoder.codebooks = 4;
  config.codec.sample_rate = 32000;
  config.codec.filters = 64;
  config.codec.ratios = {8, 5, 4, 4};
  return config;
}

MemoryNeed need(int clips, double seconds, bool guided, std::string_view kv) {
  return memory_need(small_model(), 1'000'000, clips, seconds, guided, kv);
}

TEST(MemoryNeedTest, KeysAndValuesOfTheSmallModel) {
  // 282 MiB at f16 for 30 s with guidance, as the published sizes give; a few steps more for the delays.
  EXPECT_NEAR(static_cast<double>(need(1, 30, true, "f16").keys_values) / (1 << 20), 282.0, 1.0);
  EXPECT_EQ(need(1, 30, true, "f32").keys_values, 2 * need(1, 30, true, "f16").keys_values);
  EXPECT_EQ(need(1, 30, true, "f32").keys_values, 2 * need(1, 30, false, "f32").keys_values);
  EXPECT_LT(need(1, 30, true, "int8").keys_values, need(1, 30, true, "f16").keys_values * 6 / 10);
}

TEST(MemoryNeedTest, AMelodyModelKeepsMelodyAndTextInFrontOfTheCodes) {
  weights::ModelConfig config = small_model();
  config.melody.bins = 12;  // and 235 rows
  const auto melody = [&](double seconds, bool guided, int tokens) {
    return memory_need(config, 1'000'000, 1, seconds, guided, "f32", tokens).keys_values;
  };
  constexpr std::int64_t position = std::int64_t{24} * 2 * 1024 * 4;  // of one row
  EXPECT_EQ(melody(30, false, 20) - need(1, 30, false, "f32").keys_values, (235 + 20) * position);
  EXPECT_EQ(melody(30, true, 20) - need(1, 30, true, "f32").keys_values, 2 * (235 + 20) * position);
  EXPECT_EQ(melody(1, false, 21) - melody(1, false, 20), position);
  EXPECT_EQ(memory_need(config, 1'000'000, 1, 30, true, "f32").total(),
            memory_need(config, 1'000'000, 1, 30, true, "f32", usual_text_tokens).total());
}

TEST(MemoryNeedTest, TheEngineCutsLargeRunsIntoBatches) {
  EXPECT_EQ(need(3, 30, true, "f32").keys_values, 3 * need(1, 30, true, "f32").keys_values);
  EXPECT_EQ(need(200, 30, true, "f32").keys_values, engine::most_default_kv_bytes);
  EXPECT_GT(need(200, 30, true, "f32").activations, need(1, 30, true, "f32").activations);
}

TEST(MemoryNeedTest, WhatCannotFitIsRefusedWithItsNumber) {
  EXPECT_TRUE(check_memory(need(1, 1, false, "f16")).has_value());
  MemoryNeed absurd;
  absurd.weights = std::int64_t{1} << 60;
  const auto status = check_memory(absurd);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("TB"), std::string::npos) << status.error().message;
}

TEST(ModelFolders, TheChosenOnesComeFirstAndOnce) {
  Arguments arguments;
  arguments.set("models", "/b/:/a:/b");
  const auto folders = model_folders(arguments, Context{});
  ASSERT_GE(folders.size(), 2U);
  EXPECT_EQ(folders[0], "/b");
  EXPECT_EQ(folders[1], "/a");
}

TEST(Licences, NonCommercialOnesAreKnown) {
  EXPECT_TRUE(non_commercial("CC-BY-NC-4.0"));
  EXPECT_FALSE(non_commercial("CC-BY-4.0"));
  EXPECT_FALSE(non_commercial("unknown"));
}

}  // namespace
}  // namespace continuo::cli
