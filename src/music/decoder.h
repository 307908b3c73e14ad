// MusicGen's decoder (Copet et al., "Simple and Controllable Music Generation", 2023), in the form of transformers'
// MusicgenForCausalLM: summed code embeddings + sinusoidal positions, pre-norm layers of self-attention, cross-attention to the
// text and a feed-forward, one head per codebook.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute/executor.h"
#include "weights/tensor_source.h"

namespace continuo::music {

class MusicDecoder {
 public:
  static Result<std::unique_ptr<MusicDecoder>> load(const weights::TensorSource& source, compute::Executor& executor);

  /// Cross-attention keys and values of one prompt from T5's hidden state [tokens, text width] in the current pass.
  std::unique_ptr<compute::CrossKv> condition(compute::Tensor text);

  /// One pass. ids [rows, codebooks]: the column each row hears (special id allowed). The rows' positions must be within
  /// max_positions(). -> logits [rows, codebooks * codebook_size]
  compute::Tensor step(std::span<const compute::Row> rows, std::span<const std::int32_t> ids, compute::KvPool& pool);

  /// A pool of the right shape for `pages` pages.
  Result<std::unique_ptr<compute::KvPool>> make_kv_pool(compute::KvType type, int pages);
  int max_positions() const;
  /// Bytes of weights that a step reads, whatever the number of rows.
  std::int64_t step_weight_bytes() const;

 private:
  struct Layer {
    compute::Norm self_norm;
    compute::Linear self_qkv;
    compute::Linear self_output;
    compute::Norm cross_norm;
    compute::Linear cross_q;
    compute::Linear cross_kv;
    compute::Linear cross_output;
    compute::Norm feed_forward_norm;
    compute::Linear up;
    compute::Linear down;
  };

  MusicDecoder(const weights::DecoderConfig& config, compute::Executor& executor) : config_(config), executor_(executor) {}
  Status load_layers(const weights::TensorSource& source);
  void make_positions();

  weights::DecoderConfig config_;
  compute::Executor& executor_;
  bool has_projection_ = false;
  compute::Linear text_projection_;
  std::vector<compute::Table> embeddings_;
  std::vector<Layer> layers_;
  compute::Norm output_norm_;
  compute::Linear heads_;  // all codebooks stacked
  std::vector<float> positions_;  // [max_positions, width]
};

}  // namespace continuo::music
