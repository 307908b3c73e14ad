// The layers of a signal that comes in pieces. Each takes the next rows of its input and gives the rows of its output that are
// certain by then; together these are, bit for bit, the rows that the layer gives for the whole signal. `last` says that no input
// follows: then the rest comes out, continued beyond the end as the whole signal would be.
//
// What a layer keeps between two pieces lies in carries (compute/carry.h): inputs that later outputs still hear.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "codec/layers.h"

namespace continuo::codec {

/// Outputs of a convolution of stride 1, an up-sampling one, a residual unit that are certain after so many inputs, if more may
/// follow.
std::int64_t conv_ready(const compute::Conv& conv, const weights::CodecConfig& config, std::int64_t inputs);
std::int64_t transpose_ready(const compute::Conv& conv, const weights::CodecConfig& config, std::int64_t inputs);
std::int64_t residual_ready(const ResidualUnit& unit, const weights::CodecConfig& config, std::int64_t inputs);

/// A convolution of stride 1.
class ConvStream {
 public:
  /// The configuration must outlive the layer.
  ConvStream(compute::Executor& executor, const weights::CodecConfig& config, const compute::Conv& conv);

  /// x [new inputs, in] -> [new outputs, out]
  compute::Tensor push(compute::Tensor x, bool last, const compute::ConvAround& around);
  /// Outputs that a push of so many inputs will give.
  std::int64_t outputs_of(std::int64_t inputs, bool last) const;
  std::int64_t bytes() const { return carry_->bytes(); }

 private:
  compute::Executor& executor_;
  const weights::CodecConfig& config_;
  compute::Conv conv_;
  compute::Padding padding_;
  std::int64_t taken_ = 0;
  std::int64_t given_ = 0;
  std::unique_ptr<compute::Carry> carry_;  // at first all inputs, then the padding_.left + padding_.right before the next
};

/// An up-sampling transposed convolution, trimmed as EncodecConvTranspose1d does.
class TransposeStream {
 public:
  TransposeStream(compute::Executor& executor, const weights::CodecConfig& config, const compute::Conv& conv);

  compute::Tensor push(compute::Tensor x, bool last, const compute::ConvAround& around);
  std::int64_t bytes() const { return carry_->bytes(); }

 private:
  compute::Executor& executor_;
  const weights::CodecConfig& config_;
  compute::Conv conv_;
  std::int64_t taps_;       // neighbouring inputs that an output hears
  std::int64_t trim_left_;  // outputs that never leave
  std::int64_t taken_ = 0;
  std::int64_t given_ = 0;
  std::unique_ptr<compute::Carry> carry_;  // the taps - 1 inputs before the next, zeros at first
};

/// A residual unit. The skip waits until the branch has caught up.
class ResidualStream {
 public:
  ResidualStream(compute::Executor& executor, const weights::CodecConfig& config, const ResidualUnit& unit);

  compute::Tensor push(compute::Tensor x, bool last);
  std::int64_t bytes() const { return first_.bytes() + second_.bytes() + skip_->bytes(); }

 private:
  compute::Executor& executor_;
  ConvStream first_;
  ConvStream second_;
  compute::Conv shortcut_;
  bool has_shortcut_;
  std::unique_ptr<compute::Carry> skip_;
};

/// x + lstm(x) through all layers; nothing waits.
class LstmStream {
 public:
  LstmStream(compute::Executor& executor, std::span<const compute::Lstm> layers);

  compute::Tensor push(compute::Tensor x);
  std::int64_t bytes() const;

 private:
  compute::Executor& executor_;
  std::vector<compute::Lstm> layers_;
  std::vector<std::unique_ptr<compute::Carry>> states_;
};

}  // namespace continuo::codec
