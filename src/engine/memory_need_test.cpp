#include "engine/memory_need.h"

#include <gtest/gtest.h>

namespace continuo::engine {
namespace {

/// The sizes of the published small model.
weights::ModelConfig small_model() {
  weights::ModelConfig config;
  config.decoder.width = 1024;
  config.decoder.layers = 24;
  config.decoder.heads = 16;
  config.decoder.feed_forward = 4096;
  config.decoder.codebooks = 4;
  config.decoder.codebook_size = 2048;
  config.decoder.delays = {0, 1, 2, 3};
  config.decoder.max_frames = 1500;
  config.codec.sample_rate = 32000;
  config.codec.filters = 64;
  config.codec.ratios = {8, 5, 4, 4};
  return config;
}

MemoryNeed need(int clips, double seconds, bool guided, compute::KvType kv) {
  return memory_need(small_model(), 1'000'000, {clips, seconds, guided, kv, usual_text_tokens});
}

TEST(MemoryNeed, KeysAndValuesOfTheSmallModel) {
  using compute::KvType;
  // 282 MiB at f16 for 30 s with guidance, as the published sizes give; here in whole pages, and with the steps of the delays.
  EXPECT_NEAR(static_cast<double>(need(1, 30, true, KvType::f16).keys_values) / (1 << 20), 282.0, 1.0);
  EXPECT_EQ(need(1, 30, true, KvType::f32).keys_values, 2 * need(1, 30, true, KvType::f16).keys_values);
  EXPECT_EQ(need(1, 30, true, KvType::f32).keys_values, 2 * need(1, 30, false, KvType::f32).keys_values);
  EXPECT_LT(need(1, 30, true, KvType::int8).keys_values, std::int64_t{150} << 20);
}

TEST(MemoryNeed, LongPiecesNeedAWindowAndTheBeginningOfTheNext) {
  const auto window = need(1, 30, true, compute::KvType::int8).keys_values;
  const auto longer = need(1, 31, true, compute::KvType::int8).keys_values;
  EXPECT_GT(longer, window);
  EXPECT_LT(longer, 3 * window / 2);
  EXPECT_EQ(longer, need(1, 600, true, compute::KvType::int8).keys_values);
}

TEST(MemoryNeed, AMelodyModelKeepsMelodyAndTextInFrontOfTheCodes) {
  weights::ModelConfig config = small_model();
  config.melody.bins = 12;  // and 235 rows
  const auto melody = [&](double seconds, bool guided, int tokens) {
    return memory_need(config, 1'000'000, {1, seconds, guided, compute::KvType::f32, tokens}).keys_values;
  };
  constexpr std::int64_t page = std::int64_t{24} * 2 * 1024 * 4 * compute::page_positions;  // of one row
  // 1503 positions are 47 pages with one place left; 1503 + 235 + 21 are 55.
  EXPECT_EQ(melody(30, false, 21) - need(1, 30, false, compute::KvType::f32).keys_values, 8 * page);
  EXPECT_EQ(melody(30, true, 21), 2 * melody(30, false, 21));
}

TEST(MemoryNeed, ClipsBeyondWhatIsUsualWaitForEachOther) {
  using compute::KvType;
  EXPECT_EQ(need(3, 30, true, KvType::f32).keys_values, 3 * need(1, 30, true, KvType::f32).keys_values);
  EXPECT_EQ(need(200, 30, true, KvType::f32).keys_values, most_default_kv_bytes);
  EXPECT_GT(need(200, 30, true, KvType::f32).activations, need(1, 30, true, KvType::f32).activations);
}

}  // namespace
}  // namespace continuo::engine
