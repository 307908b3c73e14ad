// What EnCodec's encoder and decoder share: padding, residual units, the LSTM with a skip around it.
#pragma once

#include <string>
#include <vector>

#include "compute/executor.h"
#include "weights/tensor_source.h"

namespace continuo::codec {

/// Two convolutions in a residual branch; the skip is the identity, or a 1x1 convolution in models with conv_shortcut.
struct ResidualUnit {
  compute::Conv first;
  compute::Conv second;
  compute::Conv shortcut;  // only with conv_shortcut
};

/// The layers of one direction, loaded by name and applied to tensors of the executor's current pass.
class Layers {
 public:
  Layers(const weights::TensorSource& source, compute::Executor& executor)
      : source_(source), executor_(executor), config_(source.config().codec) {}

  Result<compute::Conv> load_conv(const std::string& name, int stride = 1, int dilation = 1) const;
  Result<compute::Conv> load_conv_transpose(const std::string& name, int stride) const;
  /// res.0 ... of a stage: dilations grow from unit to unit.
  Result<std::vector<ResidualUnit>> load_residuals(const std::string& stage) const;
  /// `name`.0 ...
  Result<std::vector<compute::Lstm>> load_lstm(const std::string& name) const;

 private:
  const weights::TensorSource& source_;
  compute::Executor& executor_;
  const weights::CodecConfig& config_;
};

/// EncodecConv1d pads k_effective - stride in all; causal: all on the left, else the right gets half, rounded down; then what the
/// last stride needs on the right, so that `length` inputs give ceil(length / stride) outputs.
compute::Padding padding_for(const compute::Conv& conv, const weights::CodecConfig& config, std::int64_t length);

compute::Tensor residual_unit(compute::Executor& executor, const weights::CodecConfig& config, const ResidualUnit& unit,
                              compute::Tensor x);

/// x + lstm(x), through all layers of it.
compute::Tensor lstm_with_skip(compute::Executor& executor, std::span<const compute::Lstm> layers, compute::Tensor x);

/// How many inputs to each side of its own an output of the unit can hear (an upper bound).
int reach_of(const ResidualUnit& unit);

}  // namespace continuo::codec
