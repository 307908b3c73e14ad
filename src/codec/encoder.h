// EnCodec's encoder (Défossez et al., 2022), in the form of transformers' EncodecModel: convolution from samples -> for each
// ratio, reversed, residual units and a strided convolution -> LSTM with a skip around it -> convolution to the latent ->
// residual vector quantisation, each codebook coding what the ones before it left.
//
// Memory is bounded as in the decoder: the convolutions run over windows with enough context, the LSTM over all frames.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codec/layers.h"

namespace continuo::codec {

class CodecEncoder {
 public:
  static Result<std::unique_ptr<CodecEncoder>> load(const weights::TensorSource& source, compute::Executor& executor);

  /// Mono samples at the codec's rate -> codes [codebooks, frames], frames = ceil(samples / hop): a partial last frame counts as
  /// one. window_frames: frames encoded at once, 0 for the usual 64. progress as in CodecDecoder::decode.
  Result<std::vector<std::int64_t>> encode(std::span<const float> samples, int window_frames = 0,
                                           const std::function<bool(double)>& progress = {});

  int context_frames() const { return context_frames_; }

 private:
  struct Stage {
    std::vector<ResidualUnit> residuals;
    compute::Conv down;
  };

  CodecEncoder(const weights::CodecConfig& config, compute::Executor& executor) : config_(config), executor_(executor) {}
  /// Samples [n, 1] to frames before the LSTM [ceil(n / hop), channels].
  compute::Tensor downsample(compute::Tensor x);
  int count_context() const;
  /// Latent [frames, width] to codes [codebooks, frames].
  std::vector<std::int64_t> quantise(std::span<float> latent, std::size_t frames) const;

  weights::CodecConfig config_;
  compute::Executor& executor_;
  compute::Conv in_;
  std::vector<Stage> stages_;
  std::vector<compute::Lstm> lstm_;
  compute::Conv out_;
  std::vector<std::vector<float>> codebooks_;  // [width, size] each
  int context_frames_ = 0;
};

}  // namespace continuo::codec
