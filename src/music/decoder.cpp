#include "music/decoder.h"

#include <algorithm>
#include <cmath>

namespace continuo::music {

using compute::Tensor;

Result<std::unique_ptr<MusicDecoder>> MusicDecoder::load(const weights::TensorSource& source, compute::Executor& executor) {
  std::unique_ptr<MusicDecoder> decoder(new MusicDecoder(source.config().decoder, executor));
  const weights::DecoderConfig& config = decoder->config_;
  decoder->melody_ = source.config().melody;
  decoder->projects_chroma_ = source.has("decoder.chroma_proj.weight");
  if (decoder->projects_chroma_) {
    const TensorView weight = source.tensor("decoder.chroma_proj.weight"), bias = source.tensor("decoder.chroma_proj.bias");
    CONTINUO_TRY(decoder->chroma_projection_, executor.load_linear(std::span(&weight, 1), &bias));
  }
  decoder->projects_text_ = source.has("decoder.text_proj.weight");
  if (decoder->projects_text_) {
    const TensorView weight = source.tensor("decoder.text_proj.weight"), bias = source.tensor("decoder.text_proj.bias");
    CONTINUO_TRY(decoder->text_projection_, executor.load_linear(std::span(&weight, 1), &bias));
  }
  std::vector<TensorView> heads;
  for (int k = 0; k < config.codebooks; ++k) {
    CONTINUO_TRY(const compute::Table table,
                 executor.load_table(source.tensor(fmt::format("decoder.codebook.{}.embed.weight", k))));
    decoder->embeddings_.push_back(table);
    heads.push_back(source.tensor(fmt::format("decoder.head.{}.weight", k)));
  }
  CONTINUO_TRY(decoder->heads_, executor.load_linear(heads));
  CONTINUO_CHECK(decoder->load_layers(source));
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
    if (!has_prefix()) {
      CONTINUO_TRY(layer.cross_norm, norm(block + "cross_norm"));
      CONTINUO_TRY(layer.cross_q, linear(block, {"cross_q"}));
      CONTINUO_TRY(layer.cross_kv, linear(block, {"cross_k", "cross_v"}));
      CONTINUO_TRY(layer.cross_output, linear(block, {"cross_o"}));
    }
    CONTINUO_TRY(layer.feed_forward_norm, norm(block + "ffn_norm"));
    CONTINUO_TRY(layer.up, linear(block, {"ffn_up"}));
    CONTINUO_TRY(layer.down, linear(block, {"ffn_down"}));
    layers_.push_back(layer);
    source.release_pages();  // else the file and what was packed from it would both be in memory
  }
  CONTINUO_TRY(output_norm_, norm("decoder.output_norm"));
  return {};
}

int MusicDecoder::max_steps() const {
  return config_.max_frames + *std::max_element(config_.delays.begin(), config_.delays.end());
}

std::span<float> MusicDecoder::positions_of(std::span<const compute::Row> rows) {
  // transformers' MusicgenSinusoidalPositionalEmbedding, rounded to float where it rounds: the angle is a float product.
  const auto width = static_cast<std::size_t>(config_.width), half = width / 2;
  const auto slope = static_cast<float>(-std::log(10000.0) / (static_cast<double>(half) - 1.0));
  placed_.clear();
  placed_.reserve(rows.size() * width);
  positions_.reserve(static_cast<std::size_t>(max_steps()) * width);  // at once: growing it would need twice the room
  for (const compute::Row& row : rows) {
    while (positions_.size() < static_cast<std::size_t>(row.position + 1) * width) {
      const std::size_t start = positions_.size();
      const auto position = static_cast<float>(start / width);
      positions_.resize(start + width, 0.0F);
      for (std::size_t i = 0; i < half; ++i) {
        const float angle = position * std::exp(static_cast<float>(i) * slope);
        positions_[start + i] = std::cos(angle);
        positions_[start + half + i] = std::sin(angle);
      }
    }
    const auto own = positions_.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row.position) * width);
    placed_.insert(placed_.end(), own, own + config_.width);
  }
  return placed_;
}

Tensor MusicDecoder::project_text(Tensor text) { return projects_text_ ? executor_.linear(text_projection_, text) : text; }

std::unique_ptr<compute::CrossKv> MusicDecoder::empty_condition(int tokens, compute::KvType type) {
  return executor_.make_cross_kv(kv_shape(), type, tokens);
}

std::unique_ptr<compute::CrossKv> MusicDecoder::condition(Tensor projected, compute::KvType type) {
  compute::Executor& ex = executor_;
  auto cross = empty_condition(static_cast<int>(projected.rows), type);
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const compute::Mark mark = ex.mark();
    ex.store_cross(*cross, static_cast<int>(i), ex.linear(layers_[i].cross_kv, projected));  // [tokens, 2 d]
    ex.rewind(mark);
  }
  return cross;
}

std::vector<float> MusicDecoder::prefix(std::span<const int> chroma, std::span<const float> text) {
  const auto bins = static_cast<std::size_t>(melody_.bins), length = static_cast<std::size_t>(melody_.length);
  std::vector<float> one_hot(length * bins, 0.0F);
  for (std::size_t t = 0; t < length; ++t) {
    const int pitch_class = chroma.empty() ? 0 : chroma[t % chroma.size()];
    one_hot[t * bins + static_cast<std::size_t>(pitch_class)] = 1.0F;
  }
  std::vector<float> values = std::move(one_hot);  // [length, bins], and bins = d where nothing projects them
  if (projects_chroma_) {
    executor_.begin_pass();
    const Tensor rows = executor_.linear(chroma_projection_, executor_.write(values, melody_.length));  // [length, d]
    values.resize(static_cast<std::size_t>(rows.rows * rows.columns));
    executor_.read(rows, values);
  }
  values.insert(values.end(), text.begin(), text.end());
  return values;
}

Tensor MusicDecoder::run_layers(Tensor input, std::span<const compute::Row> rows, compute::KvPool& pool) {
  compute::Executor& ex = executor_;
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    const int index = static_cast<int>(i);
    const compute::Mark mark = ex.mark();  // a layer's tensors are given back, so that memory does not grow with the layers
    Tensor x = input;
    const Tensor qkv = ex.norm_linear(layer.self_norm, layer.self_qkv, x);  // [rows, 3 d]
    x = ex.linear_add(layer.self_output, ex.self_attention(qkv, pool, index, rows), x);
    if (!has_prefix()) {
      const Tensor q = ex.norm_linear(layer.cross_norm, layer.cross_q, x);  // [rows, d]
      x = ex.linear_add(layer.cross_output, ex.cross_attention(q, index, rows), x);
    }
    x = ex.linear_add(layer.down, ex.norm_linear(layer.feed_forward_norm, layer.up, x, config_.activation), x);
    ex.assign(input, x);
    ex.rewind(mark);
  }
  return input;
}

void MusicDecoder::prefill(std::span<const compute::Row> rows, std::span<const float> values, compute::KvPool& pool) {
  const std::span<float> placed = positions_of(rows);
  for (std::size_t i = 0; i < placed.size(); ++i) placed[i] += values[i];
  run_layers(executor_.write(placed, static_cast<std::int64_t>(rows.size())), rows, pool);
}

Tensor MusicDecoder::step(std::span<const compute::Row> rows, std::span<const std::int32_t> ids, compute::KvPool& pool) {
  const Tensor x = executor_.embed_sum(embeddings_, ids, config_.embedding_scale, positions_of(rows));  // [rows, d]
  return executor_.norm_linear(output_norm_, heads_, run_layers(x, rows, pool));  // [rows, codebooks * codebook_size]
}

Result<std::unique_ptr<compute::KvPool>> MusicDecoder::make_kv_pool(compute::KvType type, int pages) {
  return executor_.make_kv_pool(kv_shape(), type, pages);
}

std::int64_t MusicDecoder::step_weight_bytes() const {
  std::int64_t bytes = executor_.weight_bytes(heads_);
  for (const Layer& layer : layers_) {
    for (const compute::Linear linear : {layer.self_qkv, layer.self_output, layer.up, layer.down})
      bytes += executor_.weight_bytes(linear);
    if (!has_prefix()) bytes += executor_.weight_bytes(layer.cross_q) + executor_.weight_bytes(layer.cross_output);
  }
  return bytes;
}

}  // namespace continuo::music
