#include "codec/layers.h"

namespace continuo::codec {

using compute::Conv;
using compute::Tensor;

Result<Conv> Layers::load_conv(const std::string& name, int stride, int dilation) const {
  const TensorView bias = source_.tensor(name + ".bias");
  return executor_.load_conv(source_.tensor(name + ".weight"), &bias, stride, dilation);
}

Result<Conv> Layers::load_conv_transpose(const std::string& name, int stride) const {
  const TensorView bias = source_.tensor(name + ".bias");
  return executor_.load_conv_transpose(source_.tensor(name + ".weight"), &bias, stride);
}

Result<std::vector<ResidualUnit>> Layers::load_residuals(const std::string& stage) const {
  std::vector<ResidualUnit> units;
  int dilation = 1;
  for (int j = 0; j < config_.residual_layers; ++j) {
    const std::string name = fmt::format("{}res.{}.", stage, j);
    ResidualUnit unit;
    CONTINUO_TRY(unit.first, load_conv(name + "conv1", 1, dilation));
    CONTINUO_TRY(unit.second, load_conv(name + "conv2"));
    if (config_.conv_shortcut) {
      CONTINUO_TRY(unit.shortcut, load_conv(name + "shortcut"));
    }
    units.push_back(unit);
    dilation *= config_.dilation_growth;
  }
  return units;
}

Result<std::vector<compute::Lstm>> Layers::load_lstm(const std::string& name) const {
  std::vector<compute::Lstm> layers;
  for (int l = 0; l < config_.lstm_layers; ++l) {
    const std::string prefix = fmt::format("{}.{}.", name, l);
    CONTINUO_TRY(const compute::Lstm lstm, executor_.load_lstm(source_.tensor(prefix + "w_ih"), source_.tensor(prefix + "w_hh"),
                                                               source_.tensor(prefix + "b_ih"), source_.tensor(prefix + "b_hh")));
    layers.push_back(lstm);
  }
  return layers;
}

compute::Padding padding_for(const Conv& conv, const weights::CodecConfig& config, std::int64_t length) {
  const std::int64_t total = static_cast<std::int64_t>(conv.dilation) * (conv.kernel - 1) + 1 - conv.stride;
  const std::int64_t right = config.causal ? 0 : total / 2;
  const std::int64_t outputs = (length + conv.stride - 1) / conv.stride;
  const std::int64_t extra = outputs * conv.stride - length;
  return {total - right, right + extra, config.pad_mode};
}

Tensor residual_unit(compute::Executor& executor, const weights::CodecConfig& config, const ResidualUnit& unit, Tensor x) {
  const Tensor around =
      config.conv_shortcut ? executor.conv(unit.shortcut, x, padding_for(unit.shortcut, config, x.rows), {}) : x;
  // The second convolution's input activation is done where the first one writes.
  const Tensor inner =
      executor.conv(unit.first, x, padding_for(unit.first, config, x.rows), {Activation::elu, Activation::elu, nullptr});
  return executor.conv(unit.second, inner, padding_for(unit.second, config, inner.rows),
                       {Activation::none, Activation::none, &around});
}

Tensor lstm_with_skip(compute::Executor& executor, std::span<const compute::Lstm> layers, Tensor x) {
  Tensor hidden = x;
  for (const compute::Lstm& layer : layers) hidden = executor.lstm(layer, hidden);
  return layers.empty() ? x : executor.add(hidden, x);
}

int reach_of(const ResidualUnit& unit) { return unit.first.dilation * (unit.first.kernel - 1); }

}  // namespace continuo::codec
