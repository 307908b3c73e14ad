// Convolutions as products over windows of time-major memory, the LSTM, and what both carry from one piece of a signal to the
// next.
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

CpuCarry::CpuCarry(std::int64_t columns, std::int64_t capacity, std::int64_t zeros)
    : Carry(columns, zeros, capacity), storage_(static_cast<std::size_t>(columns * capacity) * sizeof(float)) {
  assert(zeros <= capacity);
  std::fill(row(0), row(zeros), 0.0F);
}

void CpuCarry::hold(const float* end, std::int64_t count) {
  assert(count <= capacity_);
  std::copy(end - count * columns_, end, row(0));
  rows_ = count;
}

std::unique_ptr<Carry> CpuExecutor::make_carry(std::int64_t columns, std::int64_t capacity, std::int64_t zeros) {
  return std::make_unique<CpuCarry>(columns, capacity, zeros);
}

Tensor CpuExecutor::padded(const CpuCarry* carry, Tensor x, const Padding& padding, Activation activation) {
  const std::int64_t width = x.columns, held = carry == nullptr ? 0 : carry->rows(), length = held + x.rows;
  Tensor y = make(padding.left + length + padding.right, width);
  float* signal = y.data + padding.left * width;
  if (held > 0) std::copy(carry->row(0), carry->row(held), signal);
  const std::int64_t count = x.rows * width, block = 16384;
  pool_.parallel_for((count + block - 1) / block, [&](std::int64_t task) {
    const std::int64_t begin = task * block, end = std::min(count, begin + block);
    kernels_.activate(activation, x.data + begin, end - begin, signal + held * width + begin);
  });
  const auto continue_at = [&](std::int64_t t) {
    const std::int64_t from = source_frame(t, length, padding);
    float* out = signal + t * width;
    if (from < 0) {
      std::fill(out, out + width, 0.0F);
    } else {
      std::copy(signal + from * width, signal + (from + 1) * width, out);
    }
  };
  for (std::int64_t t = -padding.left; t < 0; ++t) continue_at(t);
  for (std::int64_t t = length; t < length + padding.right; ++t) continue_at(t);
  return y;
}

Tensor CpuExecutor::join(Carry& carry, Tensor x, const Padding& padding, std::int64_t keep, Activation before) {
  auto& own = static_cast<CpuCarry&>(carry);
  assert(x.columns == own.columns());
  const bool as_it_is = own.rows() == 0 && padding.left == 0 && padding.right == 0 && before == Activation::none;
  const Tensor y = as_it_is ? x : padded(&own, x, padding, before);
  assert(keep <= y.rows - padding.right);
  own.hold(y.data + (y.rows - padding.right) * y.columns, keep);
  return y;
}

Tensor CpuExecutor::slice(Tensor x, std::int64_t begin, std::int64_t rows) {
  assert(begin >= 0 && begin + rows <= x.rows);
  return {x.data + begin * x.columns, rows, x.columns};
}

void CpuExecutor::run_conv(const ConvWeights& weights, ConvTask task, std::int64_t rows) {
  const PackedMatrix& matrix = weights.matrix;
  task.bias = matrix.bias.empty() ? nullptr : matrix.bias.data();
  task.n = matrix.out;
  // Blocks of rows that stay in the second cache while all panels pass; few rows: the threads share the panels.
  const std::int64_t row_block = 96, row_blocks = (rows + row_block - 1) / row_block;
  if (matrix.out == 1) {
    task.panels = weights.single.data();
    pool_.parallel_for(row_blocks, [&](std::int64_t index) {
      kernels_.codec->conv_to_one(task, index * row_block, std::min(rows, (index + 1) * row_block));
    });
    return;
  }
  task.panels = matrix.panels.data();
  task.half = matrix.half;
  const std::int64_t panels = matrix.panel_count(), work = rows * matrix.in * matrix.out;
  std::int64_t shares = 1;
  if (work > 60'000) shares = std::clamp<std::int64_t>((4 * pool_.threads() + row_blocks - 1) / row_blocks, 1, (panels + 3) / 4);
  const std::int64_t panels_a_task = ((panels + shares - 1) / shares + 1) / 2 * 2;  // whole tiles
  shares = (panels + panels_a_task - 1) / panels_a_task;
  pool_.parallel_for(row_blocks * shares, [&](std::int64_t index) {
    const std::int64_t row = index / shares * row_block, panel = index % shares * panels_a_task;
    kernels_.codec->conv(task, row, std::min(rows, row + row_block), panel, std::min(panels, panel + panels_a_task));
  });
}

Tensor CpuExecutor::conv(const Conv& conv, Tensor x, const Padding& padding, const ConvAround& around) {
  assert(x.columns == conv.in);
  const bool as_it_is = padding.left == 0 && padding.right == 0 && around.before == Activation::none;
  const Tensor in = as_it_is ? x : padded(nullptr, x, padding, around.before);
  const std::int64_t span = static_cast<std::int64_t>(conv.dilation) * (conv.kernel - 1) + 1;
  Tensor y = make((in.rows - span) / conv.stride + 1, conv.out);
  ConvTask task{};
  task.x = in.data;
  task.x_stride = static_cast<std::int64_t>(conv.stride) * conv.in;
  // Without dilation a window is one run of memory.
  task.taps = conv.dilation > 1 ? conv.kernel : 1;
  task.tap_stride = static_cast<std::int64_t>(conv.dilation) * conv.in;
  task.tap_length = static_cast<std::int64_t>(conv.dilation > 1 ? 1 : conv.kernel) * conv.in;
  task.y = y.data;
  task.y_stride = conv.out;
  task.after = around.after;
  task.residual = around.residual == nullptr ? nullptr : around.residual->data;
  task.residual_stride = conv.out;
  run_conv(convs_[static_cast<std::size_t>(conv.id)], task, y.rows);
  return y;
}

Tensor CpuExecutor::conv_transpose(const Conv& conv, Tensor x, std::int64_t trim_left, std::int64_t trim_right,
                                   const ConvAround& around) {
  assert(x.columns == conv.in && around.residual == nullptr);
  const std::int64_t taps = (conv.kernel + conv.stride - 1) / conv.stride, blocks = x.rows - taps + 1;
  const Tensor in = around.before == Activation::none ? x : padded(nullptr, x, {}, around.before);
  Tensor full = make(blocks * conv.stride, conv.out);
  ConvTask task{};
  task.x = in.data;
  task.x_stride = conv.in;
  task.taps = 1;
  task.tap_length = taps * conv.in;
  task.y = full.data;
  task.y_stride = static_cast<std::int64_t>(conv.stride) * conv.out;
  task.after = around.after;
  run_conv(convs_[static_cast<std::size_t>(conv.id)], task, blocks);
  return slice(full, trim_left, full.rows - trim_left - trim_right);
}

Tensor CpuExecutor::lstm(const Lstm& lstm, Tensor x, Carry* state) {
  const LstmWeights& weights = lstms_[static_cast<std::size_t>(lstm.id)];
  const std::int64_t width = lstm.width;
  // The input's part of all gates is one product; only the recurrent part has to go frame by frame.
  const Tensor gates = make(x.rows, 4 * width);
  ConvTask product{};
  product.x = x.data;
  product.x_stride = width;
  product.taps = 1;
  product.tap_length = width;
  product.y = gates.data;
  product.y_stride = gates.columns;
  run_conv(weights.input, product, x.rows);
  Tensor y = make(x.rows, width);
  const Tensor own = make(2, width);  // hidden, cell
  if (state != nullptr) {
    const auto& held = static_cast<const CpuCarry&>(*state);
    assert(held.rows() == 2 && held.columns() == width);
    std::copy(held.row(0), held.row(2), own.data);
  } else {
    std::fill(own.data, own.data + 2 * width, 0.0F);
  }
  LstmTask task{};
  task.blocks = weights.blocks.data();
  task.half = weights.half;
  task.width = width;
  task.hidden = own.data;
  task.cell = own.data + width;
  const std::int64_t blocks = (width + lstm_units - 1) / lstm_units;
  const std::int64_t shares =
      width > 128 ? std::min<std::int64_t>(blocks, 4 * pool_.threads()) : 1;  // small ones are not worth it
  for (std::int64_t t = 0; t < x.rows; ++t) {
    task.inputs = gates.data + t * 4 * width;
    task.out = y.data + t * width;
    pool_.parallel_for(
        shares, [&](std::int64_t share) { kernels_.codec->lstm(task, blocks * share / shares, blocks * (share + 1) / shares); });
    task.hidden = task.out;
  }
  if (state != nullptr) {
    std::copy(task.hidden, task.hidden + width, own.data);
    static_cast<CpuCarry&>(*state).hold(own.data + 2 * width, 2);
  }
  return y;
}

}  // namespace continuo::compute::cpu
