#include "compute/cpu/packed_matrix.h"

#include <algorithm>
#include <cstring>

#include "base/half.h"
#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

static_assert(panel_width == 16, "pack_rows writes panels of 16");

std::int64_t PackedMatrix::panel_count() const { return (out + panel_width - 1) / panel_width; }

void put_in_panel(PackedMatrix& matrix, std::int64_t out, std::span<const float> values) {
  const std::int64_t base = out / panel_width * matrix.in * panel_width + out % panel_width;
  if (matrix.half) {
    auto* panel = reinterpret_cast<std::uint16_t*>(matrix.panels.data()) + base;
    for (std::size_t k = 0; k < values.size(); ++k) panel[k * panel_width] = float_to_half(values[k]);
  } else {
    auto* panel = reinterpret_cast<float*>(matrix.panels.data()) + base;
    for (std::size_t k = 0; k < values.size(); ++k) panel[k * panel_width] = values[k];
  }
}

std::vector<float> float_values(const TensorView& tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.shape.elements()));
  tensor.to_float(values);
  return values;
}

PackedMatrix pack(std::span<const TensorView> weights, const Kernels& kernels) {
  std::int64_t out = 0;
  bool half = kernels.half_panels, one_type = true;
  for (const TensorView& weight : weights) {
    out += weight.shape[0];
    half = half && is_half(weight);
    one_type = one_type && weight.type == weights[0].type;
  }
  if (one_type && quant_kind(weights[0].type) != QuantKind::none) return pack_blocks(weights, *kernels.quant);
  const std::int64_t in = weights[0].shape[1];
  if (half) {
    // The common large case without a detour through float: move the 16-bit values as they are.
    PackedMatrix matrix;
    matrix.in = in;
    matrix.out = out;
    matrix.half = true;
    matrix.panels = AlignedBytes(static_cast<std::size_t>(matrix.panel_count() * panel_width * in * 2));
    if (out % panel_width != 0) {
      std::byte* last = matrix.panels.data() + (matrix.panel_count() - 1) * panel_width * in * 2;
      std::memset(last, 0, static_cast<std::size_t>(panel_width * in * 2));
    }
    auto* panels = reinterpret_cast<std::uint16_t*>(matrix.panels.data());
    std::int64_t o = 0;
    for (const TensorView& weight : weights) {
      for (std::int64_t r = 0; r < weight.shape[0]; ++r, ++o) {
        const std::byte* row = weight.data.data() + r * in * 2;
        std::uint16_t* panel = panels + o / panel_width * in * panel_width + o % panel_width;
        for (std::int64_t k = 0; k < in; ++k) std::memcpy(panel + k * panel_width, row + k * 2, 2);
      }
    }
    return matrix;
  }
  std::size_t which = 0;
  std::int64_t first = 0;
  return pack_rows(out, in, false, [&](std::int64_t o, std::span<float> values) {
    while (o - first >= weights[which].shape[0]) first += weights[which++].shape[0];
    weights[which].row(o - first).to_float(values);
  });
}

AlignedBytes pack_lstm(const TensorView& weights, bool half) {
  const std::int64_t width = weights.shape[1], blocks = (width + lstm_units - 1) / lstm_units;
  const std::size_t bytes = static_cast<std::size_t>(blocks * width * 4 * lstm_units) * (half ? 2 : 4);
  AlignedBytes packed(bytes);
  std::memset(packed.data(), 0, bytes);
  std::vector<float> row(static_cast<std::size_t>(width));
  for (std::int64_t o = 0; o < 4 * width; ++o) {
    weights.row(o).to_float(row);
    const std::int64_t gate = o / width, unit = o % width;
    const std::int64_t first = unit / lstm_units * width * 4 * lstm_units + gate * lstm_units + unit % lstm_units;
    for (std::int64_t k = 0; k < width; ++k) {
      const std::int64_t place = first + k * 4 * lstm_units;
      if (half) {
        reinterpret_cast<std::uint16_t*>(packed.data())[place] = float_to_half(row[static_cast<std::size_t>(k)]);
      } else {
        reinterpret_cast<float*>(packed.data())[place] = row[static_cast<std::size_t>(k)];
      }
    }
  }
  return packed;
}

void set_bias(PackedMatrix& matrix, std::span<const float> bias) {
  matrix.bias.assign(static_cast<std::size_t>(matrix.panel_count() * panel_width), 0.0F);
  std::copy(bias.begin(), bias.end(), matrix.bias.begin());
}

}  // namespace continuo::compute::cpu
