#include "engine/memory_need.h"

#include <algorithm>

#include "engine/piece.h"
#include "weights/musicgen_layout.h"

namespace continuo::engine {

namespace {

constexpr std::int64_t program_bytes = std::int64_t{16} << 20;  // code, libraries, tokenizer
constexpr std::int64_t slack = 15;  // one part in so many of the weights: large pages that are not full, as measured
constexpr std::int64_t panel = 16;  // output channels that the kernels pad to

/// What a matrix takes once it is packed for the kernels.
std::int64_t packed_bytes(const TensorView& tensor, bool quantised_stay) {
  std::int64_t inner = 1;
  for (int i = 1; i < tensor.shape.rank; ++i) inner *= tensor.shape[i];
  const std::int64_t elements = (tensor.shape[0] + panel - 1) / panel * panel * inner;
  switch (tensor.type) {
    case DType::f16: return elements * 2;
    case DType::q8_0: return quantised_stay ? elements * 34 / 32 : elements * 4;
    case DType::q4_0: return quantised_stay ? elements * 18 / 32 : elements * 4;
    case DType::q4_k: return quantised_stay ? elements * 24 / 32 : elements * 4;  // scales and minimums spread out as f32
    default: return elements * 4;
  }
}

}  // namespace

Result<compute::KvType> parse_kv_type(const std::string& name) {
  if (name == "f32") return compute::KvType::f32;
  if (name == "f16") return compute::KvType::f16;
  if (name == "int8") return compute::KvType::int8;
  return fail(ErrorCode::invalid_argument, "unknown type '{}' for keys and values; choose int8, f16 or f32", name);
}

std::int64_t resident_weight_bytes(const weights::TensorSource& source, bool encoder) {
  std::int64_t bytes = 0;
  for (const weights::TensorSpec& spec : weights::musicgen_layout(source.config())) {
    if (!encoder && spec.name.starts_with("codec.encoder.")) continue;
    if (spec.name == "text.embed.weight") continue;  // the few rows of a prompt are read where they lie
    const TensorView tensor = source.tensor(spec.name);
    if (spec.kind == weights::TensorKind::matrix) {
      bytes += packed_bytes(tensor, !spec.name.starts_with("codec."));
    } else {
      bytes += static_cast<std::int64_t>(tensor.data.size());
    }
  }
  return bytes;
}

std::int64_t text_pass_bytes(const weights::ModelConfig& config, int tokens) {
  const weights::T5Config& text = config.text;
  const std::int64_t inner = std::int64_t{text.heads} * text.head_width;
  // A layer: its input, norms and results, queries, keys and values, what attention gives, the wide rows (with their gate); then
  // the decoder's projection and one layer's keys and values. The states are read once more for the fingerprint.
  const std::int64_t layer = 6 * std::int64_t{text.width} + 4 * inner + 3 * std::int64_t{text.feed_forward};
  return tokens * (layer + std::int64_t{text.width} + 3 * std::int64_t{config.decoder.width}) *
         static_cast<std::int64_t>(sizeof(float));
}

std::int64_t heard_bytes(const weights::ModelConfig& config, compute::KvType kv, int tokens) {
  const weights::DecoderConfig& decoder = config.decoder;
  constexpr auto value = static_cast<std::int64_t>(sizeof(float));
  if (config.is_melody()) {
    return (tokens + 2 * (std::int64_t{config.melody.length} + tokens)) * decoder.width * value;
  }
  // Laid out in pages, too.
  const std::int64_t page = compute::kv_page_bytes({decoder.layers, decoder.heads, decoder.width / decoder.heads}, kv);
  return compute::KvPool::pages_for(tokens) * page + config.text.width * value;
}

std::int64_t pass_bytes(const weights::ModelConfig& config, int rows) {
  const weights::DecoderConfig& decoder = config.decoder;
  const std::int64_t parts = (decoder.max_frames + 255) / 256;
  const std::int64_t attention = decoder.heads * parts * (16 + 2 * ((decoder.width / decoder.heads + 15) / 16 * 16));
  const std::int64_t layers = 8 * std::int64_t{decoder.width} + 2 * std::int64_t{decoder.feed_forward};
  const std::int64_t logits = 2 * std::int64_t{decoder.codebooks} * decoder.codebook_size;
  // The codec takes up to 32 frames at once through its first layers, the last ones piece by piece.
  const std::int64_t codec = 32 * 12 * (std::int64_t{config.codec.filters} << config.codec.ratios.size()) + 64 * 1024;
  const std::int64_t positions = std::int64_t{decoder.max_frames} * decoder.width;  // the table of their embeddings
  return (rows * (attention + layers + logits) + codec + positions) * static_cast<std::int64_t>(sizeof(float));
}

MemoryNeed memory_need(const weights::ModelConfig& config, std::int64_t weights, const MemoryAsk& ask) {
  PieceSettings settings;
  settings.frames = std::max(1, frame_count(ask.seconds, config));
  settings.two_rows = ask.guided;
  settings.prefix_rows = config.is_melody() ? config.melody.length + ask.text_tokens : 0;
  const weights::DecoderConfig& decoder = config.decoder;
  const std::int64_t page = compute::kv_page_bytes({decoder.layers, decoder.heads, decoder.width / decoder.heads}, ask.kv);
  const std::int64_t pages = Piece(settings, config, {}).pages(), of_one_clip = pages * page;
  const std::int64_t samples = std::int64_t{settings.frames} * config.codec.hop() * decoder.audio_channels * ask.clips;
  MemoryNeed need;
  need.weights = weights;
  need.keys_values = std::min(of_one_clip * ask.clips, std::max(of_one_clip, most_default_kv_bytes));
  const std::int64_t rest_of_a_block =
      (compute::pages_a_block - pages * ask.clips % compute::pages_a_block) % compute::pages_a_block * page;
  const std::int64_t beside = ask.beside >= 0 ? ask.beside : 2 * samples * static_cast<std::int64_t>(sizeof(float));
  need.activations = program_bytes + weights / slack + rest_of_a_block + pass_bytes(config, 2 * std::min(ask.clips, 16)) + beside;
  return need;
}

}  // namespace continuo::engine
