// A matrix [out, in] in the layout the kernels stream: panels of 16 output channels, inside a panel [in][16], so that a vector
// holds the weights of neighbouring outputs for one input and each sum runs over the inputs in order.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/tensor.h"
#include "compute/cpu/arena.h"
#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

struct PackedMatrix {
  std::int64_t in = 0;
  std::int64_t out = 0;
  bool half = false;
  QuantKind quant = QuantKind::none;
  AlignedBytes panels;
  AlignedBytes scales;      // of quantised panels
  std::vector<float> bias;  // empty, or one for each output channel of all panels

  std::int64_t panel_count() const;
  std::int64_t bytes() const { return static_cast<std::int64_t>(panels.size() + scales.size()); }
};

/// Packs rows produced one at a time: row(o, values) writes the `in` weights of output channel o.
template <class RowFunction>
PackedMatrix pack_rows(std::int64_t out, std::int64_t in, bool half, RowFunction&& row);

/// Stacks weights [out_i, in] along out. Weights of one block type stay quantised, f16 stays f16 if the kernels read it;
/// everything else, and stacks of several types, become f32.
PackedMatrix pack(std::span<const TensorView> weights, const Kernels& kernels);

QuantKind quant_kind(DType type);
/// pack() for weights that all have the same block type.
PackedMatrix pack_blocks(std::span<const TensorView> weights, const QuantKernels& kernels);

/// An LSTM's recurrent weights [4 width, width] in blocks (LstmTask).
AlignedBytes pack_lstm(const TensorView& weights, bool half);

/// Fills in the bias [out] (padded to whole panels).
void set_bias(PackedMatrix& matrix, std::span<const float> bias);

std::vector<float> float_values(const TensorView& tensor);

/// Whether a tensor's values are exactly representable in f16 because it is stored so.
inline bool is_half(const TensorView& tensor) { return tensor.type == DType::f16; }

void put_in_panel(PackedMatrix& matrix, std::int64_t out, std::span<const float> values);

template <class RowFunction>
PackedMatrix pack_rows(std::int64_t out, std::int64_t in, bool half, RowFunction&& row) {
  PackedMatrix matrix;
  matrix.in = in;
  matrix.out = out;
  matrix.half = half;
  matrix.panels = AlignedBytes(static_cast<std::size_t>(matrix.panel_count() * 16 * in * (half ? 2 : 4)));
  std::vector<float> values(static_cast<std::size_t>(in));
  for (std::int64_t o = 0; o < matrix.panel_count() * 16; ++o) {
    if (o < out) {
      row(o, std::span<float>(values));
    } else {
      std::fill(values.begin(), values.end(), 0.0F);
    }
    put_in_panel(matrix, o, values);
  }
  return matrix;
}

}  // namespace continuo::compute::cpu
