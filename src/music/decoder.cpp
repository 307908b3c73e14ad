#include "music/decoder.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace continuo::music {

using compute::Tensor;

Result<std::unique_ptr<MusicDecoder>> MusicDecoder::load(const weights::TensorSource& source, compute::Executor& executor) {
  std::unique_ptr<MusicDecoder> decoder(new MusicDecoder(source.config().decoder, executor));
  const weights::DecoderConfig& config = decoder->config_;
  decoder->has_projection_ = source.has("decoder.text_proj.weight");
  if (decoder->has_projection_) {
    const TensorView weight = source.tensor("decoder.text_proj.weight"), bias = source.tensor("decoder.text_proj.bias");
    CONTINUO_TRY(decoder->text_projection_, executor.load_linear(std::span(&weight, 1), &bias));
  }
  std::vector<TensorView> heads;
  for (int k = 0; k < config.codebooks; ++k) {
    CONTINUO_TRY(const compute::Table table, executor.load_table(source.tensor(fmt::format("decoder.codebook.{}.embed.weight", k))));
    decoder->embeddings_.push_back(table);
    heads.push_back(source.tensor(fmt::format("decoder.head.{}.weight", k)));
  }
  CONTINUO_TRY(decoder->heads_, executor.load_linear(heads));
  CONTINUO_CHECK(decoder->load_layers(source));
  decoder->make_positions();
  return decoder;
}

Status MusicDecoder::load_layers(const weights::TensorSource& source) {
  const auto norm = [&](const std::string& name) {
    const TensorView bias = source.tensor(name + ".bias");
    return executor_.load_norm(compute::NormKind::layer, source.tensor(name + ".weight"), &bias, config_.norm_epsilon);
  };
  const auto linear = [&](const std::string& block, std::initializer_list<const char*> names) {
    std::vector<TensorView> weights;
    for (const char* name : names) weights.push_back(source.tensor(fmt::format("{}{}.weight", block, name)));
    return executor_.load_linear(weights);
  };
  for (int i = 0; i < config_.layers; ++i) {
    const std::string block = fmt::format("decoder.blk.{}.", i);
    Layer layer;
    CONTINUO_TRY(layer.self_norm, norm(block + "self_norm"));
    CONTINUO_TRY(layer.self_qkv, linear(block, {"self_q", "self_k", "self_v"}));
    CONTINUO_TRY(layer.self_output, linear(block, {"self_o"}));
    CONTINUO_TRY(layer.cross_norm, norm(block + "cross_norm"));
    CONTINUO_TRY(layer.cross_q, linear(block, {"cross_q"}));
    CONTINUO_TRY(layer.cross_kv, linear(block, {"cross_k", "cross_v"}));
    CONTINUO_TRY(layer.cross_output, linear(block, {"cross_o"}));
    CONTINUO_TRY(layer.feed_forward_norm, norm(block + "ffn_norm"));
    CONTINUO_TRY(layer.up, linear(block, {"ffn_up"}));
    CONTINUO_TRY(layer.down, linear(block, {"ffn_down"}));
    layers_.push_back(layer);
    source.release_pages();  // else the file and what was packed from it would both be in memory
  }
  CONTINUO_TRY(output_norm_, norm("decoder.output_norm"));
  return {};
}

int MusicDecoder::max_positions() const {
  return config_.max_frames + *std::max_element(config_.delays.begin(), config_.delays.end());
}

void MusicDecoder::make_positions() {
  // transformers' MusicgenSinusoidalPositionalEmbedding, rounded to float where it rounds: the angle is a float product.
  const int width = config_.width, half = width / 2;
  const auto slope = static_cast<float>(-std::log(10000.0) / (half - 1));
  positions_.assign(static_cast<std::size_t>(max_positions()) * static_cast<std::size_t>(width), 0.0F);
  for (int p = 0; p < max_positions(); ++p) {
    float* row = positions_.data() + static_cast<std::ptrdiff_t>(p) * width;
    for (int i = 0; i < half; ++i) {
      const float angle = static_cast<float>(p) * std::exp(static_cast<float>(i) * slope);
      row[i] = std::cos(angle);
      row[half + i] = std::sin(angle);
    }
  }
}

std::unique_ptr<compute::CrossKv> MusicDecoder::condition(Tensor text) {
  compute::Executor& ex = executor_;
  if (has_projection_) text = ex.linear(text_projection_, text);  // [tokens, d]
  auto cross = ex.make_cross_kv(config_.layers, config_.heads, config_.width / config_.heads, static_cast<int>(text.rows));
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    ex.store_cross(*cross, static_cast<int>(i), ex.linear(layers_[i].cross_kv, text));  // [tokens, 2 d]
  }
  return cross;
}

Tensor MusicDecoder::step(std::span<const compute::Row> rows, std::span<const std::int32_t> ids, compute::KvPool& pool) {
  compute::Executor& ex = executor_;
  const auto width = static_cast<std::size_t>(config_.width);
  std::vector<float> positions(rows.size() * width);
  for (std::size_t r = 0; r < rows.size(); ++r) {
    assert(rows[r].position < max_positions());
    std::copy_n(positions_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(rows[r].position) * width), width,
                positions.begin() + static_cast<std::ptrdiff_t>(r * width));
  }
  Tensor x = ex.embed_sum(embeddings_, ids, config_.embedding_scale, positions);  // [rows, d]
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    const Tensor qkv = ex.norm_linear(layer.self_norm, layer.self_qkv, x);  // [rows, 3 d]
    x = ex.linear_add(layer.self_output, ex.self_attention(qkv, pool, index, rows), x);
    const Tensor q = ex.norm_linear(layer.cross_norm, layer.cross_q, x);  // [rows, d]
    x = ex.linear_add(layer.cross_output, ex.cross_attention(q, index, rows), x);
    x = ex.linear_add(layer.down, ex.norm_linear(layer.feed_forward_norm, layer.up, x, config_.activation), x);
  }
  return ex.norm_linear(output_norm_, heads_, x);  // [rows, codebooks * codebook_size]
}

Result<std::unique_ptr<compute::KvPool>> MusicDecoder::make_kv_pool(compute::KvType type, int pages) {
  return executor_.make_kv_pool({config_.layers, config_.heads, config_.width / config_.heads}, type, pages);
}

std::int64_t MusicDecoder::step_weight_bytes() const {
  std::int64_t bytes = executor_.weight_bytes(heads_);
  for (const Layer& layer : layers_) {
    for (const compute::Linear linear : {layer.self_qkv, layer.self_output, layer.cross_q, layer.cross_output, layer.up, layer.down}) {
      bytes += executor_.weight_bytes(linear);
    }
  }
  return bytes;
}

}  // namespace continuo::music
