// What a run will take, known before anything is loaded: lengths are known, so is all that is kept.
#pragma once

#include <cstdint>

#include "compute/kv.h"
#include "engine/engine.h"
#include "weights/tensor_source.h"

namespace continuo::engine {

struct MemoryNeed {
  std::int64_t weights = 0;      // in the layouts of the kernels, and the tables that are read in the file
  std::int64_t keys_values = 0;  // self-attention of every row, for the whole length
  std::int64_t activations = 0;  // the program itself, the tensors of a pass, the sound of all clips
  std::int64_t total() const { return weights + keys_values + activations; }
};

/// A prompt of a dozen words, where the true one is not known.
inline constexpr int usual_text_tokens = 16;

struct MemoryAsk {
  int clips = 1;
  double seconds = 30.0;
  bool guided = true;
  compute::KvType kv = compute::KvType::int8;
  int text_tokens = usual_text_tokens;  // of the longest prompt, which melody models keep in front of the codes
  std::int64_t beside = -1;             // what the program keeps besides; negative: the sound of all clips, twice
};

Result<compute::KvType> parse_kv_type(const std::string& name);

/// Bytes of weights in memory once a model is loaded; `encoder`: the codec's encoder too, which only audio prompts need.
std::int64_t resident_weight_bytes(const weights::TensorSource& source, bool encoder);

/// Tensors of the pass in which a prompt of so many tokens is read.
std::int64_t text_pass_bytes(const weights::ModelConfig& config, int tokens);

/// What the decoder hears of such a prompt: keys and values of all layers; of a melody model the rows of its prefixes.
std::int64_t heard_bytes(const weights::ModelConfig& config, compute::KvType kv, int tokens);

/// Tensors of a pass of so many rows, and of the codec's passes.
std::int64_t pass_bytes(const weights::ModelConfig& config, int rows);

/// weights: resident_weight_bytes. More clips than most_default_kv_bytes allows wait for each other.
MemoryNeed memory_need(const weights::ModelConfig& config, std::int64_t weights, const MemoryAsk& ask);

}  // namespace continuo::engine
