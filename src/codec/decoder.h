// EnCodec's decoder (Défossez et al., "High Fidelity Neural Audio Compression", 2022), in the form of transformers' EncodecModel:
// the sum of codebook entries -> convolution -> LSTM with a skip around it -> for each ratio an up-sampling transposed
// convolution and residual units -> convolution to samples.
//
// Memory is bounded for any length: the LSTM runs over all frames (it is forward only and small), the convolutions, whose output
// depends on a few frames to each side only, run over windows with that many frames of context. The result does not depend
// on the windows, sample for sample.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "codec/layers.h"
#include "compute/executor.h"
#include "weights/tensor_source.h"

namespace continuo::codec {

class CodecDecoder {
 public:
  static Result<std::unique_ptr<CodecDecoder>> load(const weights::TensorSource& source, compute::Executor& executor);

  /// codes [codebooks, frames], each within the codebook -> [frames * hop] samples, not clamped. `codebooks` may be fewer than
  /// the model has. window_frames: frames decoded at once, 0 for the usual 64.
  /// progress is told the fraction done; it returns false to stop, and the result is then a `cancelled` error.
  Result<std::vector<float>> decode(std::span<const std::int64_t> codes, int codebooks, int frames, int window_frames = 0,
                                    const std::function<bool(double)>& progress = {});

  /// Frames to each side that a frame of output can depend on in the convolutions (an upper bound; 5 for the 32 kHz model).
  int context_frames() const { return context_frames_; }

 private:
  struct Stage {
    compute::Conv up;
    std::vector<ResidualUnit> residuals;
  };

  CodecDecoder(const weights::CodecConfig& config, compute::Executor& executor) : config_(config), executor_(executor) {}
  /// Latent frames after the LSTM [frames, channels] to samples [frames * hop, 1].
  compute::Tensor upsample(compute::Tensor x);
  int count_context() const;

  weights::CodecConfig config_;
  compute::Executor& executor_;
  std::vector<compute::Table> codebooks_;
  compute::Conv in_;
  std::vector<compute::Lstm> lstm_;
  std::vector<Stage> stages_;
  compute::Conv out_;
  int context_frames_ = 0;
};

}  // namespace continuo::codec
