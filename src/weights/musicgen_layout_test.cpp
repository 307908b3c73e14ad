#include "weights/musicgen_layout.h"

#include <gtest/gtest.h>

#include <map>

#include "weights/fixtures_test.h"
#include "weights/huggingface_names.h"

namespace continuo::weights {
namespace {

std::map<std::string, TensorSpec> by_name(const ModelConfig& config) {
  std::map<std::string, TensorSpec> specs;
  for (TensorSpec& spec : musicgen_layout(config)) {
    const std::string name = spec.name;
    EXPECT_TRUE(specs.emplace(name, std::move(spec)).second) << name;
    EXPECT_LT(name.size(), 64U) << name;  // ggml's limit
  }
  return specs;
}

TEST(MusicgenLayout, FollowsTheConfig) {
  const auto specs = by_name(testing::small_config());
  EXPECT_EQ(specs.at("text.blk.1.attn_o.weight").shape, (Shape{6, 6}));
  EXPECT_EQ(specs.at("text.blk.0.attn_rel_bias.weight").shape, (Shape{32, 2}));
  EXPECT_FALSE(specs.contains("text.blk.1.attn_rel_bias.weight"));
  EXPECT_FALSE(specs.contains("text.blk.0.ffn_gate.weight"));
  EXPECT_EQ(specs.at("decoder.codebook.1.embed.weight").shape, (Shape{5, 8}));
  EXPECT_EQ(specs.at("decoder.text_proj.weight").shape, (Shape{8, 6}));
  EXPECT_EQ(specs.at("codec.decoder.in.weight").shape, (Shape{8, 3, 7}));
  EXPECT_EQ(specs.at("codec.decoder.up.0.conv.weight").shape, (Shape{8, 4, 6}));
  EXPECT_EQ(specs.at("codec.decoder.up.1.res.0.conv1.weight").shape, (Shape{1, 2, 3}));
  EXPECT_EQ(specs.at("codec.decoder.out.weight").shape, (Shape{1, 2, 7}));
  EXPECT_EQ(specs.at("codec.encoder.down.0.conv.weight").shape, (Shape{4, 2, 4}));  // ratios reversed
  EXPECT_EQ(specs.at("codec.encoder.lstm.1.w_hh").shape, (Shape{32, 8}));
}

TEST(MusicgenLayout, HasWhatOptionsDemand) {
  ModelConfig config = testing::small_config();
  config.text.gated = true;
  config.text.width = config.decoder.width;
  config.codec.conv_shortcut = true;
  config.codec.residual_layers = 2;
  const auto specs = by_name(config);
  EXPECT_EQ(specs.at("text.blk.1.ffn_gate.weight").shape, (Shape{8, 8}));
  EXPECT_FALSE(specs.contains("decoder.text_proj.weight"));
  EXPECT_EQ(specs.at("codec.encoder.down.1.res.1.shortcut.weight").shape, (Shape{4, 4, 1}));
}

TEST(MusicgenLayout, KeepsNormsAndBiasesInF32) {
  const auto specs = by_name(testing::small_config());
  for (const char* name : {"text.output_norm.weight", "decoder.blk.0.self_norm.bias", "decoder.text_proj.bias",
                           "codec.decoder.in.bias", "codec.decoder.lstm.0.b_ih", "text.blk.0.attn_rel_bias.weight"}) {
    EXPECT_TRUE(specs.at(name).always_f32()) << name;
  }
  for (const char* name :
       {"text.embed.weight", "decoder.head.0.weight", "codec.quantizer.0.codebook", "codec.decoder.lstm.0.w_ih"}) {
    EXPECT_FALSE(specs.at(name).always_f32()) << name;
  }
}

TEST(MusicgenLayout, EveryTensorHasASourceInACheckpoint) {
  ModelConfig config = testing::small_config();
  config.text.gated = true;
  config.codec.conv_shortcut = true;
  config.codec.residual_layers = 3;
  const auto names = huggingface_names(config);
  const auto specs = by_name(config);
  EXPECT_EQ(names.size(), specs.size());
  for (const auto& [name, spec] : specs) EXPECT_TRUE(names.contains(name)) << name;
}

}  // namespace
}  // namespace continuo::weights
