#include "text/t5_encoder.h"

#include <cmath>

namespace continuo::text {

using compute::Tensor;

int relative_bucket(int relative_position, int buckets, int max_distance) {
  // transformers' T5Attention._relative_position_bucket, bidirectional. The logarithm is taken in float, as there.
  const int side = buckets / 2;
  const int exact = side / 2;
  const int distance = std::abs(relative_position);
  int bucket = relative_position > 0 ? side : 0;
  if (distance < exact) return bucket + distance;
  const float ratio = std::log(static_cast<float>(distance) / static_cast<float>(exact)) /
                      static_cast<float>(std::log(static_cast<double>(max_distance) / exact));
  const int far = exact + static_cast<int>(ratio * static_cast<float>(side - exact));
  return bucket + std::min(far, side - 1);
}

Result<std::unique_ptr<T5Encoder>> T5Encoder::load(const weights::TensorSource& source, compute::Executor& executor) {
  std::unique_ptr<T5Encoder> encoder(new T5Encoder(source.config().text, executor));
  const weights::T5Config& config = encoder->config_;
  const auto norm = [&](const std::string& name) {
    return executor.load_norm(compute::NormKind::rms, source.tensor(name), nullptr, config.norm_epsilon);
  };
  const auto linear = [&](const std::string& name) {
    const TensorView weight = source.tensor(name);
    return executor.load_linear(std::span(&weight, 1));
  };
  CONTINUO_TRY(encoder->embedding_, executor.load_table(source.tensor("text.embed.weight")));
  const TensorView bias = source.tensor("text.blk.0.attn_rel_bias.weight");
  encoder->relative_bias_.resize(static_cast<std::size_t>(bias.shape.elements()));
  bias.to_float(encoder->relative_bias_);
  for (int i = 0; i < config.layers; ++i) {
    const std::string block = fmt::format("text.blk.{}.", i);
    Layer layer;
    CONTINUO_TRY(layer.attention_norm, norm(block + "attn_norm.weight"));
    const TensorView qkv[] = {source.tensor(block + "attn_q.weight"), source.tensor(block + "attn_k.weight"),
                              source.tensor(block + "attn_v.weight")};
    CONTINUO_TRY(layer.qkv, executor.load_linear(qkv));
    CONTINUO_TRY(layer.output, linear(block + "attn_o.weight"));
    CONTINUO_TRY(layer.feed_forward_norm, norm(block + "ffn_norm.weight"));
    CONTINUO_TRY(layer.up, linear(block + "ffn_up.weight"));
    if (config.gated) {
      CONTINUO_TRY(layer.gate, linear(block + "ffn_gate.weight"));
    }
    CONTINUO_TRY(layer.down, linear(block + "ffn_down.weight"));
    encoder->layers_.push_back(layer);
    source.release_pages();
  }
  CONTINUO_TRY(encoder->output_norm_, norm("text.output_norm.weight"));
  return encoder;
}

std::vector<float> T5Encoder::bias_by_distance(int tokens) const {
  const auto heads = static_cast<std::size_t>(config_.heads);
  const auto span = static_cast<std::size_t>(2 * tokens - 1);
  std::vector<float> bias(heads * span);
  for (std::size_t i = 0; i < span; ++i) {
    const int bucket =
        relative_bucket(static_cast<int>(i) - (tokens - 1), config_.relative_buckets, config_.relative_max_distance);
    for (std::size_t head = 0; head < heads; ++head) {
      bias[head * span + i] = relative_bias_[static_cast<std::size_t>(bucket) * heads + head];
    }
  }
  return bias;
}

Tensor T5Encoder::encode(std::span<const int> ids) {
  const std::vector<std::int32_t> rows(ids.begin(), ids.end());
  const std::vector<float> bias = bias_by_distance(static_cast<int>(ids.size()));
  compute::Executor& ex = executor_;
  const Tensor all = ex.embed_sum(std::span(&embedding_, 1), rows, 1.0F, {});  // [tokens, width]
  for (const Layer& layer : layers_) {
    const compute::Mark mark = ex.mark();
    Tensor x = all;
    const Tensor qkv = ex.norm_linear(layer.attention_norm, layer.qkv, x);  // [tokens, 3 heads head_width]
    x = ex.linear_add(layer.output, ex.encoder_attention(qkv, config_.heads, 1.0F, bias), x);
    const Tensor normed = ex.norm(layer.feed_forward_norm, x);
    Tensor wide = ex.linear(layer.up, normed, config_.gated ? Activation::none : config_.activation);  // [tokens, ff]
    if (config_.gated) wide = ex.multiply(ex.linear(layer.gate, normed, config_.activation), wide);
    x = ex.linear_add(layer.down, wide, x);
    ex.assign(all, x);
    ex.rewind(mark);
  }
  return ex.norm(output_norm_, all);
}

}  // namespace continuo::text
