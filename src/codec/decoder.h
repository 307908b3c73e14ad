// EnCodec's decoder (Défossez et al., "High Fidelity Neural Audio Compression", 2022), in the form of transformers' EncodecModel:
// the sum of codebook entries -> convolution -> LSTM with a skip around it -> for each ratio an up-sampling transposed
// convolution and residual units -> convolution to samples.
//
// This is the network and its weights; codec/stream.h runs it. A whole clip is a stream too, so there is one way to decode.
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

  /// A whole clip: codes [codebooks, frames], each within the codebook -> [frames * hop, channels] samples, not clamped. The
  /// codebooks of the channels take turns; they may be fewer than the model has. chunk_frames: frames pushed at once, 0 for as
  /// many as are fastest; the samples do not depend on it. progress is told the fraction done; it returns false to stop, and the
  /// result is then a `cancelled` error.
  Result<std::vector<float>> decode(std::span<const std::int64_t> codes, int codebooks, int frames, int chunk_frames = 0,
                                    int channels = 1, const std::function<bool(double)>& progress = {}) const;

  /// Samples that have left a stream after so many frames, when more may follow.
  std::int64_t samples_ready(std::int64_t frames) const;
  /// Frames that must be in before sample s leaves, when more may follow.
  std::int64_t frames_before(std::int64_t sample) const;
  /// The fewest frames such that, whenever that many more are in, a frame's samples have all left: 4 for the 32 kHz model.
  int look_ahead() const;

  const weights::CodecConfig& config() const { return config_; }

 private:
  friend class ChannelStream;
  struct Stage {
    compute::Conv up;
    std::vector<ResidualUnit> residuals;
  };

  CodecDecoder(const weights::CodecConfig& config, compute::Executor& executor) : config_(config), executor_(executor) {}

  weights::CodecConfig config_;
  compute::Executor& executor_;
  std::vector<compute::Table> codebooks_;
  compute::Conv in_;
  std::vector<compute::Lstm> lstm_;
  std::vector<Stage> stages_;
  compute::Conv out_;
};

}  // namespace continuo::codec
