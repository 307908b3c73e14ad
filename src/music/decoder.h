// MusicGen's decoder (Copet et al., "Simple and Controllable Music Generation", 2023), in the form of transformers'
// MusicgenForCausalLM: summed code embeddings + sinusoidal positions, pre-norm layers of self-attention, cross-attention to the
// text and a feed-forward, one head per codebook. Melody models (MusicgenMelodyForCausalLM) have no cross-attention: the rows of
// the chroma and of the text stand in front of the codes, and all positions attend to them.
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

  /// T5's hidden state [tokens, text width] of the current pass, projected to the decoder's width [tokens, d].
  compute::Tensor project_text(compute::Tensor text);
  /// Cross-attention keys and values of one prompt from the projected text. Not for melody models.
  std::unique_ptr<compute::CrossKv> condition(compute::Tensor projected, compute::KvType type);
  /// One for so many tokens that is still to be filled.
  std::unique_ptr<compute::CrossKv> empty_condition(int tokens, compute::KvType type);

  /// Whether the model hears its conditioning as a prefix.
  bool has_prefix() const { return melody_.bins > 0; }
  /// A melody model's prefix [melody length + tokens, d]: chroma, one pitch class a row, repeated or cut to the melody's
  /// length (silence is class 0), then text [tokens, d]. Starts passes of its own.
  std::vector<float> prefix(std::span<const int> chroma, std::span<const float> text);
  /// Keys and values for rows of a prefix [rows, d] at the rows' positions; nothing is predicted.
  void prefill(std::span<const compute::Row> rows, std::span<const float> values, compute::KvPool& pool);

  /// One pass. ids [rows, codebooks]: the column each row hears (special id allowed). -> logits [rows, codebooks * codebook_size]
  compute::Tensor step(std::span<const compute::Row> rows, std::span<const std::int32_t> ids, compute::KvPool& pool);

  std::int64_t kv_page_bytes(compute::KvType type) const { return executor_.kv_page_bytes(kv_shape(), type); }
  /// A pool of the right shape for `pages` pages.
  Result<std::unique_ptr<compute::KvPool>> make_kv_pool(compute::KvType type, int pages);
  int width() const { return config_.width; }
  /// Steps of the trained window.
  int max_steps() const;
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
  compute::KvShape kv_shape() const { return {config_.layers, config_.heads, config_.width / config_.heads}; }
  Status load_layers(const weights::TensorSource& source);
  /// The sinusoidal embeddings of the rows' positions, [rows, d]; valid until the next call.
  std::span<float> positions_of(std::span<const compute::Row> rows);
  /// Overwrites its input with the result.
  compute::Tensor run_layers(compute::Tensor input, std::span<const compute::Row> rows, compute::KvPool& pool);

  weights::DecoderConfig config_;
  weights::MelodyConfig melody_;
  compute::Executor& executor_;
  bool projects_text_ = false, projects_chroma_ = false;
  compute::Linear text_projection_;
  compute::Linear chroma_projection_;
  std::vector<compute::Table> embeddings_;
  std::vector<Layer> layers_;
  compute::Norm output_norm_;
  compute::Linear heads_;         // all codebooks stacked
  std::vector<float> positions_;  // [positions seen so far, width]
  std::vector<float> placed_;     // those of the last rows asked for
};

}  // namespace continuo::music
