#include "weights/tensor_types.h"

#include <gtest/gtest.h>

#include <map>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

constexpr DType types[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k};

std::map<std::string, DType> types_of(const ModelConfig& config, DType type) {
  std::map<std::string, DType> found;
  for (const TensorSpec& spec : musicgen_layout(config)) found[spec.name] = stored_type(spec, type);
  return found;
}

TEST(TensorTypes, FollowTheRule) {
  const struct {
    const char* name;
    DType expected[6];  // as `types`
  } rules[] = {
      {"decoder.blk.0.self_q.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}},
      {"decoder.blk.0.cross_o.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}},
      {"decoder.blk.0.ffn_up.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}},
      {"text.blk.0.attn_o.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}},
      // rows of 288 and 32: not whole blocks of 256
      {"decoder.blk.0.ffn_down.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q8_0}},
      {"text.blk.0.attn_q.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q8_0}},
      {"decoder.head.1.weight", {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q8_0, DType::q8_0}},
      {"decoder.text_proj.weight", {DType::f32, DType::f16, DType::bf16, DType::f16, DType::f16, DType::f16}},
      {"text.embed.weight", {DType::f32, DType::f16, DType::f16, DType::f16, DType::f16, DType::f16}},
      {"decoder.codebook.0.embed.weight", {DType::f32, DType::f16, DType::f16, DType::f16, DType::f16, DType::f16}},
      {"codec.quantizer.0.codebook", {DType::f32, DType::f16, DType::f16, DType::f16, DType::f16, DType::f16}},
      {"codec.decoder.lstm.0.w_ih", {DType::f32, DType::f16, DType::f16, DType::f16, DType::f16, DType::f16}},
      {"decoder.blk.0.self_norm.weight", {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32, DType::f32}},
      {"decoder.text_proj.bias", {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32, DType::f32}},
      {"text.blk.0.attn_rel_bias.weight", {DType::f32, DType::f32, DType::f32, DType::f32, DType::f32, DType::f32}},
  };
  for (std::size_t i = 0; i < 6; ++i) {
    const auto found = types_of(testing::small_wide_config(), types[i]);
    for (const auto& rule : rules) EXPECT_EQ(found.at(rule.name), rule.expected[i]) << rule.name << " of " << name_of(types[i]);
  }
}

TEST(TensorTypes, HoldTheRowsAndAgreeInAStack) {
  for (const ModelConfig& config : {testing::small_config(), testing::small_melody_config(), testing::small_wide_config()}) {
    for (const DType type : types) {
      const auto found = types_of(config, type);
      for (const TensorSpec& spec : musicgen_layout(config))
        EXPECT_TRUE(tensor_bytes(found.at(spec.name), spec.shape)) << spec.name;
      EXPECT_EQ(found.at("decoder.blk.0.self_q.weight"), found.at("decoder.blk.0.self_k.weight"));
      EXPECT_EQ(found.at("decoder.blk.0.self_q.weight"), found.at("decoder.blk.0.self_v.weight"));
      EXPECT_EQ(found.at("text.blk.0.attn_q.weight"), found.at("text.blk.0.attn_v.weight"));
    }
  }
}

}  // namespace
}  // namespace continuo::weights
