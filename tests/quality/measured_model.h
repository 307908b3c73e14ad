// One model, loaded to be looked at step by step: its logits under teacher forcing, and its greedy codes.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "compute/executor.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"
#include "text/tokenizer.h"
#include "weights/tensor_source.h"

namespace continuo::quality {

/// Codes of a piece and the text they go with.
struct Piece {
  std::string prompt;
  std::vector<std::int64_t> codes;  // [codebooks, frames]
  std::vector<std::int64_t> heard;  // what the model is let hear of it, where that is not the same; else empty
  int frames = 0;
};

class MeasuredModel {
 public:
  /// `kv`: how keys and values are kept. Errors: those of the layers below; melody models.
  static Result<MeasuredModel> open(const std::string& path, compute::KvType kv, int threads);

  const weights::ModelConfig& config() const { return source_->config(); }
  /// Bytes of weights that a step reads, as packed for the kernels.
  std::int64_t step_bytes() const { return decoder_->step_weight_bytes(); }

  /// Each step hears the piece's own codes before it. guidance 1 looks at the prompted row alone.
  /// -> [steps, codebooks, codebook_size]
  Result<std::vector<float>> logits(const Piece& piece, float guidance);
  /// The greedy piece of that many frames.
  Result<Piece> greedy(const std::string& prompt, int frames, float guidance);

 private:
  Result<std::unique_ptr<compute::CrossKv>> condition(const std::string& prompt);
  std::vector<float> row_logits(const Piece& piece, const compute::CrossKv* conditioning, compute::KvPool& pool);

  // In this order: the executor reads tables in the source's bytes.
  std::unique_ptr<weights::TensorSource> source_;
  std::unique_ptr<compute::Executor> executor_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<text::T5Encoder> encoder_;
  std::unique_ptr<music::MusicDecoder> decoder_;
  compute::KvType kv_ = compute::KvType::f32;
};

}  // namespace continuo::quality
