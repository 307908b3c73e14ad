#include "weights/config_check.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using testing::small_config;
using testing::spiece_of;

TEST(ConfigCheck, AcceptsASmallModel) {
  const Status status = check_config(small_config(), "here");
  EXPECT_TRUE(status) << status.error().message;
}

TEST(ConfigCheck, AcceptsEveryPublishedKind) {
  ModelConfig audiogen = small_config();  // a codec at another rate
  audiogen.codec.sample_rate = 16'000;
  audiogen.codec.ratios = {8, 5, 4, 2};
  ModelConfig stereo_melody = testing::small_stereo_config();
  stereo_melody.melody = testing::small_melody_config().melody;
  for (const ModelConfig& config : {testing::small_stereo_config(), testing::small_melody_config(), stereo_melody, audiogen}) {
    const Status status = check_config(config, "here");
    EXPECT_TRUE(status) << status.error().message;
  }
}

struct Wrong {
  std::function<void(ModelConfig&)> damage;
  const char* reason;
};

const Wrong wrong[] = {
    {[](ModelConfig& c) { c.text.width = 0; }, "text.embedding_length is 0"},
    {[](ModelConfig& c) { c.text.width = 16385; }, "text.embedding_length is 16385"},
    {[](ModelConfig& c) { c.text.layers = 257; }, "text.block_count"},
    {[](ModelConfig& c) { c.text.heads = 0; }, "text.head_count"},
    {[](ModelConfig& c) { c.text.head_width = 1000; }, "text.head_length"},
    {[](ModelConfig& c) { c.text.feed_forward = -1; }, "text.feed_forward_length"},
    {[](ModelConfig& c) { c.text.vocabulary = (1 << 20) + 1; }, "text.vocabulary"},
    {[](ModelConfig& c) { c.text.relative_buckets = 2; }, "text.relative_buckets"},
    {[](ModelConfig& c) { c.text.relative_buckets = 33; }, "odd"},
    {[](ModelConfig& c) { c.text.relative_max_distance = 8; }, "text.relative_max_distance"},
    {[](ModelConfig& c) { c.text.norm_epsilon = 0.0F; }, "text.layer_norm_epsilon"},
    {[](ModelConfig& c) { c.text.norm_epsilon = std::nanf(""); }, "text.layer_norm_epsilon"},
    {[](ModelConfig& c) { c.decoder.width = 1 << 30; }, "musicgen.embedding_length"},
    {[](ModelConfig& c) { c.decoder.width = 9; }, "not a multiple of the 2 heads"},
    {[](ModelConfig& c) { c.decoder.heads = 0; }, "musicgen.attention.head_count"},
    {[](ModelConfig& c) { c.decoder.width = 9, c.decoder.heads = 1; }, "odd"},
    {[](ModelConfig& c) { c.decoder.layers = 0; }, "musicgen.block_count"},
    {[](ModelConfig& c) { c.decoder.codebooks = 17; }, "musicgen.codebook_count"},
    {[](ModelConfig& c) { c.decoder.codebook_size = 1; }, "musicgen.codebook_size"},
    {[](ModelConfig& c) { c.decoder.special_id = 5; }, "musicgen.special_id"},
    {[](ModelConfig& c) { c.decoder.delays = {0}; }, "musicgen.delays has 1 entries"},
    {[](ModelConfig& c) {
       c.decoder.delays = {0, 5};
     },
     "musicgen.delays is 5"},
    {[](ModelConfig& c) {
       c.decoder.delays = {-1, 0};
     },
     "musicgen.delays is -1"},
    {[](ModelConfig& c) { c.decoder.max_frames = 0; }, "musicgen.max_frames"},
    {[](ModelConfig& c) { c.decoder.embedding_scale = std::numeric_limits<float>::infinity(); }, "musicgen.embedding_scale"},
    {[](ModelConfig& c) { c.decoder.audio_channels = 3; }, "musicgen.audio_channels is 3"},
    {[](ModelConfig& c) { c.decoder.audio_channels = 2; }, "the decoder 2 for 2 audio channels"},
    {[](ModelConfig& c) { c.codec.codebooks = 1 << 30, c.decoder.audio_channels = 1 << 30; }, "musicgen.audio_channels"},
    {[](ModelConfig& c) { c.melody = {.bins = 300}; }, "musicgen.chroma_bins is 300"},
    {[](ModelConfig& c) { c.melody = {.bins = 12, .length = 0}; }, "musicgen.chroma_length is 0"},
    {[](ModelConfig& c) { c.melody = {.bins = 12, .n_fft = 8}; }, "musicgen.chroma_n_fft is 8"},
    {[](ModelConfig& c) { c.melody = {.bins = 12, .n_fft = 64, .hop = 65}; }, "musicgen.chroma_hop is 65"},
    {[](ModelConfig& c) { c.codec.sample_rate = 0; }, "codec.sample_rate"},
    {[](ModelConfig& c) { c.codec.filters = 0; }, "codec.filters"},
    {[](ModelConfig& c) {
       c.codec.filters = 1024, c.codec.ratios = {1, 1, 1, 1, 1};
     },
     "32768 channels"},
    {[](ModelConfig& c) { c.codec.ratios.clear(); }, "codec.ratios has 0 entries"},
    {[](ModelConfig& c) { c.codec.ratios.assign(9, 1); }, "codec.ratios has 9 entries"},
    {[](ModelConfig& c) {
       c.codec.ratios = {3, 0};
     },
     "codec.ratios is 0"},
    {[](ModelConfig& c) { c.codec.ratios.assign(8, 64); }, "281474976710656 samples"},
    {[](ModelConfig& c) { c.codec.kernel = 0; }, "codec.kernel"},
    {[](ModelConfig& c) { c.codec.last_kernel = 65; }, "codec.last_kernel"},
    {[](ModelConfig& c) { c.codec.residual_kernel = -3; }, "codec.residual_kernel"},
    {[](ModelConfig& c) { c.codec.residual_layers = 8, c.codec.dilation_growth = 8; }, "dilation of 2097152"},
    {[](ModelConfig& c) { c.codec.compress = 0; }, "codec.compress"},
    {[](ModelConfig& c) { c.codec.compress = 3; }, "codec.compress"},
    {[](ModelConfig& c) { c.codec.lstm_layers = 0; }, "codec.lstm_layers"},
    {[](ModelConfig& c) { c.codec.trim_right_ratio = 1.5F; }, "codec.trim_right_ratio"},
    {[](ModelConfig& c) { c.codec.codebooks = 3; }, "parts of different models"},
    {[](ModelConfig& c) { c.codec.codebook_size = 8; }, "parts of different models"},
    {[](ModelConfig& c) { c.tokenizer.end_id = 12; }, "tokenizer.end_id"},
    {[](ModelConfig& c) { c.tokenizer.model_proto.clear(); }, "tokenizer.model is not a SentencePiece model"},
    {[](ModelConfig& c) { c.tokenizer.model_proto = spiece_of(13); }, "13 pieces"},
    {[](ModelConfig& c) { c.tokenizer.model_proto.assign((16U << 20) + 1, 'x'); }, "tokenizer.model has 16777217 bytes"},
    {[](ModelConfig& c) { c.defaults.temperature = -1.0F; }, "generation.temperature"},
    {[](ModelConfig& c) { c.defaults.top_p = 1.5F; }, "generation.top_p"},
    {[](ModelConfig& c) { c.defaults.top_k = -1; }, "generation.top_k"},
    {[](ModelConfig& c) { c.defaults.guidance = std::nanf(""); }, "generation.guidance"},
    {[](ModelConfig& c) { c.name = "two\nlines"; }, "general.name"},
    {[](ModelConfig& c) { c.license = "\xFF"; }, "general.license"},
    {[](ModelConfig& c) { c.source.assign(5000, 'x'); }, "general.source"},
};

TEST(ConfigCheck, RefusesEveryNumberOutOfBounds) {
  for (const Wrong& example : wrong) {
    SCOPED_TRACE(example.reason);
    ModelConfig config = small_config();
    example.damage(config);
    const Status status = check_config(config, "here");
    if (status) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    EXPECT_NE(status.error().message.find(example.reason), std::string::npos) << status.error().message;
    EXPECT_TRUE(status.error().message.starts_with("here: ")) << status.error().message;
  }
}

}  // namespace
}  // namespace continuo::weights
