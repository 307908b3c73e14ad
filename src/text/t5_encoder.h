// T5's encoder (Raffel et al., "Exploring the Limits of Transfer Learning with a Unified Text-to-Text Transformer", 2020), in the
// form of transformers' T5EncoderModel: RMS norm before each block, no scaling of scores, a relative-position bias that the first
// layer owns and all share. Version 1.1's gated feed-forward too.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute/executor.h"
#include "weights/tensor_source.h"

namespace continuo::text {

/// The bucket of a relative position key - query: exact below half of a side's buckets, then logarithmic up to max_distance.
int relative_bucket(int relative_position, int buckets, int max_distance);

class T5Encoder {
 public:
  static Result<std::unique_ptr<T5Encoder>> load(const weights::TensorSource& source, compute::Executor& executor);

  /// The last hidden state [tokens, width] of one text, as a tensor of the executor's current pass.
  /// ids must lie within the vocabulary and not be empty.
  compute::Tensor encode(std::span<const int> ids);
  int width() const { return config_.width; }

 private:
  struct Layer {
    compute::Norm attention_norm;
    compute::Linear qkv;
    compute::Linear output;
    compute::Norm feed_forward_norm;
    compute::Linear up;
    compute::Linear gate;  // only if gated
    compute::Linear down;
  };

  T5Encoder(const weights::T5Config& config, compute::Executor& executor) : config_(config), executor_(executor) {}
  /// [heads, 2 tokens - 1]: the bias of key - query = -(tokens - 1) ... tokens - 1
  std::vector<float> bias_by_distance(int tokens) const;

  weights::T5Config config_;
  compute::Executor& executor_;
  compute::Table embedding_;
  std::vector<float> relative_bias_;  // [buckets, heads]
  std::vector<Layer> layers_;
  compute::Norm output_norm_;
};

}  // namespace continuo::text
