// Convolutions as products over windows of time-major memory, and the LSTM.
#include <algorithm>
#include <cassert>
#include <cstring>

#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

namespace {

/// The input frame that stands at place t of a continued signal of `length` frames, or -1 for zeros.
/// reflect follows EnCodec: an input not longer than the padding is first extended with zeros on the right, and what
/// the extension added is cut off the end of the result, so places keep their meaning.
std::int64_t source_frame(std::int64_t t, std::int64_t length, const Padding& padding) {
  if (t >= 0 && t < length) return t;
  switch (padding.mode) {
    case PadMode::constant: return -1;
    case PadMode::replicate: return t < 0 ? 0 : length - 1;
    case PadMode::reflect: {
      const std::int64_t extended = std::max(length, std::max(padding.left, padding.right) + 1);
      std::int64_t mirrored = t;
      if (t < 0) mirrored = -t;
      if (t >= extended) mirrored = 2 * (extended - 1) - t;
      return mirrored < length ? mirrored : -1;
    }
  }
  return -1;
}

}  // namespace

Tensor CpuExecutor::padded(Tensor x, const Padding& padding, Activation activation) {
  Tensor y = make(padding.left + x.rows + padding.right, x.columns);
  const std::int64_t width = x.columns;
  const auto copy_frame = [&](std::int64_t t, std::int64_t from) {
    float* out = y.data + (t + padding.left) * width;
    if (from < 0) {
      std::fill(out, out + width, 0.0F);
    } else {
      kernels_.activate(activation, x.data + from * width, width, out);
    }
  };
  const std::int64_t block = 512;
  pool_.parallel_for((x.rows + block - 1) / block, [&](std::int64_t task) {
    const std::int64_t begin = task * block, end = std::min(x.rows, begin + block);
    kernels_.activate(activation, x.data + begin * width, (end - begin) * width, y.data + (begin + padding.left) * width);
  });
  for (std::int64_t t = -padding.left; t < 0; ++t) copy_frame(t, source_frame(t, x.rows, padding));
  for (std::int64_t t = x.rows; t < x.rows + padding.right; ++t) copy_frame(t, source_frame(t, x.rows, padding));
  return y;
}

Tensor CpuExecutor::conv(const Conv& conv, Tensor x, const Padding& padding, const ConvAround& around) {
  const PackedMatrix& matrix = convs_[static_cast<std::size_t>(conv.id)];
  assert(x.columns == conv.in);
  const bool as_it_is = padding.left == 0 && padding.right == 0 && around.before == Activation::none;
  Tensor in = as_it_is ? x : padded(x, padding, around.before);
  const std::int64_t span = static_cast<std::int64_t>(conv.dilation) * (conv.kernel - 1) + 1;
  const std::int64_t frames = (in.rows - span) / conv.stride + 1;
  Tensor y = make(frames, conv.out);
  Gemm task{};
  task.x = in.data;
  task.x_stride = static_cast<std::int64_t>(conv.stride) * conv.in;
  if (conv.dilation > 1) {
    // A dilated window is not one run of memory: gather it.
    Tensor windows = make(frames, static_cast<std::int64_t>(conv.kernel) * conv.in);
    for (std::int64_t t = 0; t < frames; ++t) {
      for (std::int64_t tap = 0; tap < conv.kernel; ++tap) {
        const float* from = in.data + (t * conv.stride + tap * conv.dilation) * conv.in;
        std::copy(from, from + conv.in, windows.data + t * windows.columns + tap * conv.in);
      }
    }
    task.x = windows.data;
    task.x_stride = windows.columns;
  }
  task.y = y.data;
  task.y_stride = conv.out;
  task.after = around.after;
  task.residual = around.residual == nullptr ? nullptr : around.residual->data;
  task.residual_stride = conv.out;
  run_gemm(matrix, task, frames);
  return y;
}

Tensor CpuExecutor::conv_transpose(const Conv& conv, Tensor x, std::int64_t trim_left, std::int64_t trim_right,
                                   const ConvAround& around) {
  const PackedMatrix& matrix = convs_[static_cast<std::size_t>(conv.id)];
  assert(x.columns == conv.in && around.residual == nullptr);
  const std::int64_t taps = (conv.kernel + conv.stride - 1) / conv.stride;
  Tensor in = padded(x, {taps - 1, taps - 1, PadMode::constant}, around.before);
  const std::int64_t blocks = x.rows + taps - 1;
  Tensor full = make(blocks * conv.stride, conv.out);
  Gemm task{};
  task.x = in.data;
  task.x_stride = conv.in;
  task.y = full.data;
  task.y_stride = static_cast<std::int64_t>(conv.stride) * conv.out;
  task.after = around.after;
  run_gemm(matrix, task, blocks);
  const std::int64_t length = (x.rows - 1) * conv.stride + conv.kernel;  // the last block may reach beyond it
  return {full.data + trim_left * conv.out, length - trim_left - trim_right, conv.out};
}

Tensor CpuExecutor::lstm(const Lstm& lstm, Tensor x) {
  const LstmWeights& weights = lstms_[static_cast<std::size_t>(lstm.id)];
  const std::int64_t width = lstm.width;
  // The input's part of all gates is one product; only the recurrent part has to go frame by frame.
  Tensor gates = multiply_matrix(weights.input, x, Activation::none, nullptr);
  Tensor y = make(x.rows, width);
  float* cell = arena_.floats(width);
  float* start = arena_.floats(width);
  float* sums = arena_.floats(4 * width);
  std::fill(cell, cell + width, 0.0F);
  std::fill(start, start + width, 0.0F);
  for (std::int64_t t = 0; t < x.rows; ++t) {
    Gemm task{};
    task.x = t == 0 ? start : y.data + (t - 1) * width;
    task.x_stride = width;
    task.y = sums;
    task.y_stride = 4 * width;
    task.residual = gates.data + t * 4 * width;
    task.residual_stride = 4 * width;
    run_gemm(weights.hidden, task, 1);
    kernels_.lstm_cell(sums, width, cell, y.data + t * width);
  }
  return y;
}

}  // namespace continuo::compute::cpu
