// The codec's inner loops: convolutions as products over windows of time-major memory, and a step of an LSTM. Every result sums
// in an order of its own, whatever the rows around it.
#pragma once

#include <cstdint>

#include "base/network.h"

namespace continuo::compute::cpu {

/// y = after(W windows + bias) + residual. Window r: `taps` runs of tap_length floats, run i at x + r x_stride + i tap_stride
/// (one run if the convolution is not dilated). Weights in panels as for Gemm, k = taps tap_length; results sum over k in
/// ascending order.
struct ConvTask {
  const float* x;
  std::int64_t x_stride;
  std::int64_t taps;
  std::int64_t tap_stride;
  std::int64_t tap_length;
  const void* panels;
  bool half;
  std::int64_t n;  // output channels
  float* y;
  std::int64_t y_stride;
  const float* bias;      // [panels * 16] or null
  const float* residual;  // or null
  std::int64_t residual_stride;
  Activation after;
};

/// Units of an LSTM in a block of its recurrent weights: [block][k][gate i, f, g, o][16 units], units beyond the width zero.
inline constexpr int lstm_units = 16;

/// One step: gates = inputs + W hidden, then the cell. Blocks are independent of each other.
struct LstmTask {
  const void* blocks;
  bool half;
  std::int64_t width;
  const float* inputs;  // [4 width]: what the step's input and the biases give to the gates i, f, g, o
  const float* hidden;  // [width], of the step before
  float* cell;          // [width], updated
  float* out;           // [width], the new hidden state
};

struct CodecKernels {
  void (*conv)(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
               std::int64_t panel_end);
  /// The same for one output channel, whose weights are f32 [k], not in a panel; results sum in lanes, then over them.
  void (*conv_to_one)(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end);
  void (*lstm)(const LstmTask& task, std::int64_t block_begin, std::int64_t block_end);
};

const CodecKernels& portable_codec_kernels();

}  // namespace continuo::compute::cpu
