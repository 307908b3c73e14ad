#include "codec/stream_layers.h"

#include <algorithm>
#include <cassert>
#include <cmath>

namespace continuo::codec {

using compute::Conv;
using compute::ConvAround;
using compute::Executor;
using compute::Padding;
using compute::Tensor;

namespace {

/// Inputs before the first output. A reflection shows the inputs 1 to padding.left before the first, so they must have come; else
/// the first output needs what it hears on the right, which is never more.
std::int64_t first_inputs(const Padding& padding) {
  return (padding.mode == PadMode::reflect ? padding.left : padding.right) + 1;
}

/// EncodecConvTranspose1d trims kernel - stride outputs in all.
std::int64_t trimmed_left(const Conv& conv, const weights::CodecConfig& config) {
  const int total = conv.kernel - conv.stride;
  const int right = config.causal ? static_cast<int>(std::ceil(static_cast<double>(total) * config.trim_right_ratio)) : total / 2;
  return total - right;
}

}  // namespace

std::int64_t conv_ready(const Conv& conv, const weights::CodecConfig& config, std::int64_t inputs) {
  const Padding padding = padding_for(conv, config, 1);
  return inputs < first_inputs(padding) ? 0 : inputs - padding.right;
}

std::int64_t transpose_ready(const Conv& conv, const weights::CodecConfig& config, std::int64_t inputs) {
  return std::max<std::int64_t>(0, inputs * conv.stride - trimmed_left(conv, config));
}

std::int64_t residual_ready(const ResidualUnit& unit, const weights::CodecConfig& config, std::int64_t inputs) {
  return conv_ready(unit.second, config, conv_ready(unit.first, config, inputs));
}

ConvStream::ConvStream(Executor& executor, const weights::CodecConfig& config, const Conv& conv)
    : executor_(executor), config_(config), conv_(conv), padding_(padding_for(conv, config, 1)) {
  assert(conv.stride == 1);
  carry_ = executor.make_carry(conv.in, std::max(padding_.left + padding_.right, first_inputs(padding_) - 1), 0);
}

std::int64_t ConvStream::outputs_of(std::int64_t inputs, bool last) const {
  const std::int64_t total = taken_ + inputs;
  return (last ? total : conv_ready(conv_, config_, total)) - given_;
}

Tensor ConvStream::push(Tensor x, bool last, const ConvAround& around) {
  const std::int64_t outputs = outputs_of(x.rows, last);
  const bool starts = given_ == 0;
  taken_ += x.rows;
  given_ += outputs;
  if (outputs == 0) {  // not enough yet, or all is out
    executor_.join(*carry_, x, {}, carry_->rows() + x.rows, around.before);
    return {nullptr, 0, conv_.out};
  }
  const Padding padding{starts ? padding_.left : 0, last ? padding_.right : 0, padding_.mode};
  const Tensor windows = executor_.join(*carry_, x, padding, last ? 0 : padding_.left + padding_.right, around.before);
  const Tensor y = executor_.conv(conv_, windows, {}, {Activation::none, around.after, around.residual});
  assert(y.rows == outputs);
  return y;
}

TransposeStream::TransposeStream(Executor& executor, const weights::CodecConfig& config, const Conv& conv)
    : executor_(executor),
      config_(config),
      conv_(conv),
      taps_((conv.kernel + conv.stride - 1) / conv.stride),
      trim_left_(trimmed_left(conv, config)),
      carry_(executor.make_carry(conv.in, taps_ - 1, taps_ - 1)) {}

Tensor TransposeStream::push(Tensor x, bool last, const ConvAround& around) {
  const std::int64_t from = taken_ * conv_.stride;  // the first output of this push's blocks, before trimming
  taken_ += x.rows;
  const std::int64_t outputs = (last ? taken_ * conv_.stride : transpose_ready(conv_, config_, taken_)) - given_;
  const Padding padding{0, last ? taps_ - 1 : 0, PadMode::constant};
  const Tensor windows = executor_.join(*carry_, x, padding, last ? 0 : taps_ - 1, around.before);
  if (outputs == 0) return {nullptr, 0, conv_.out};
  const std::int64_t blocks = windows.rows - taps_ + 1, left = given_ + trim_left_ - from;
  given_ += outputs;
  return executor_.conv_transpose(conv_, windows, left, blocks * conv_.stride - left - outputs,
                                  {Activation::none, around.after, nullptr});
}

ResidualStream::ResidualStream(Executor& executor, const weights::CodecConfig& config, const ResidualUnit& unit)
    : executor_(executor),
      first_(executor, config, unit.first),
      second_(executor, config, unit.second),
      shortcut_(unit.shortcut),
      has_shortcut_(config.conv_shortcut) {
  // The branch holds back n - ready(n) of n inputs, most of them before it starts or as many ever after.
  std::int64_t waiting = 0;
  for (std::int64_t n = 1; residual_ready(unit, config, n - 1) == 0; ++n) {
    waiting = std::max(waiting, n - residual_ready(unit, config, n));
  }
  skip_ = executor.make_carry(unit.second.out, waiting, 0);
}

Tensor ResidualStream::push(Tensor x, bool last) {
  const Tensor inner = first_.push(x, last, {Activation::elu, Activation::elu, nullptr});
  const std::int64_t outputs = second_.outputs_of(inner.rows, last);
  // EncodecResnetBlock's shortcut convolution has kernel 1: it neither waits nor pads.
  const Tensor direct = has_shortcut_ && x.rows > 0 ? executor_.conv(shortcut_, x, {}, {}) : x;
  const Tensor held = executor_.join(*skip_, direct, {}, skip_->rows() + x.rows - outputs);
  const Tensor around = executor_.slice(held, 0, outputs);
  return second_.push(inner, last, {Activation::none, Activation::none, &around});
}

LstmStream::LstmStream(Executor& executor, std::span<const compute::Lstm> layers)
    : executor_(executor), layers_(layers.begin(), layers.end()) {
  for (const compute::Lstm& layer : layers_) states_.push_back(executor.make_carry(layer.width, 2, 2));
}

Tensor LstmStream::push(Tensor x) {
  if (layers_.empty() || x.rows == 0) return x;
  Tensor hidden = x;
  for (std::size_t i = 0; i < layers_.size(); ++i) hidden = executor_.lstm(layers_[i], hidden, states_[i].get());
  return executor_.add(hidden, x);
}

std::int64_t LstmStream::bytes() const {
  std::int64_t bytes = 0;
  for (const auto& state : states_) bytes += state->bytes();
  return bytes;
}

}  // namespace continuo::codec
