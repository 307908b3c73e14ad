// The reference of the quantised products: plain loops.
#include <cmath>

#include "base/half.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/portable_math.h"

namespace continuo::compute::cpu {

namespace {

void quantise(const float* x, std::int64_t blocks, std::int64_t rows, int bits, std::int32_t factor, std::byte* values,
              float* scales, std::int32_t* sums) {
  const float limit = bits == 8 ? 127.0F : 32767.0F;
  for (std::int64_t b = 0; b < blocks; ++b, x += quant_block) {
    float largest = 0.0F;
    for (int i = 0; i < quant_block; ++i) largest = std::fmax(largest, std::fabs(x[i]));
    const float inverse = largest > 0.0F ? limit / largest : 0.0F;
    std::int32_t sum = 0;
    for (int i = 0; i < quant_block; ++i) {
      const auto q = static_cast<std::int32_t>(std::nearbyint(x[i] * inverse));
      sum += q;
      if (bits == 8) {
        reinterpret_cast<std::int8_t*>(values)[b * rows * quant_block + i] = static_cast<std::int8_t>(q);
      } else {
        reinterpret_cast<std::int16_t*>(values)[b * rows * quant_block + i] = static_cast<std::int16_t>(q);
      }
    }
    scales[b * rows] = largest / limit;
    sums[b * rows] = factor * sum;
  }
}

int weight_at(QuantKind kind, const std::uint8_t* payload, int input, int lane) {
  if (kind == QuantKind::q8) return payload[input / 4 * 64 + lane * 4 + input % 4] - 128;
  const std::uint8_t byte = payload[input % 16 / 4 * 64 + lane * 4 + input % 4];
  return input < 16 ? byte & 15 : byte >> 4;
}

void gemm(const QuantGemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  const std::int64_t bytes = payload_bytes(task.kind);
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      float sums[panel_width] = {};
      for (std::int64_t b = 0; b < task.blocks; ++b) {
        const std::int64_t at = panel * task.blocks + b;
        const auto* payload = reinterpret_cast<const std::uint8_t*>(task.payload) + at * bytes;
        const auto* x = reinterpret_cast<const std::int8_t*>(task.x) + (b * task.rows + row) * quant_block;
        const float x_scale = task.x_scales[b * task.rows + row];
        const std::int32_t x_sum = task.x_sums[b * task.rows + row];
        for (int lane = 0; lane < panel_width; ++lane) {
          std::int32_t product = 0;
          for (int i = 0; i < quant_block; ++i) product += x[i] * weight_at(task.kind, payload, i, lane);
          if (task.kind == QuantKind::q4_min) {
            const float* scales = task.scales_f32 + at * 2 * panel_width;
            sums[lane] +=
                x_scale * (scales[lane] * static_cast<float>(product) - scales[panel_width + lane] * static_cast<float>(x_sum));
          } else {
            if (task.kind == QuantKind::q4) product += x_sum;  // the offset of 8
            sums[lane] += half_to_float(task.scales[at * panel_width + lane]) * x_scale * static_cast<float>(product);
          }
        }
      }
      const std::int64_t first = panel * panel_width;
      for (int lane = 0; lane < panel_width && first + lane < task.n; ++lane) {
        float value = sums[lane];
        if (task.bias != nullptr) value += task.bias[first + lane];
        value = apply_activation(task.after, value);
        if (task.residual != nullptr) value += task.residual[row * task.residual_stride + first + lane];
        task.y[row * task.y_stride + first + lane] = value;
      }
    }
  }
}

}  // namespace

const QuantKernels& portable_quant_kernels() {
  static constexpr QuantKernels table{4, 128, 8, gemm, quantise};
  return table;
}

}  // namespace continuo::compute::cpu
