// The codec's loops in plain C++, the reference for the other tables.
#include <cmath>

#include "compute/cpu/codec_kernels.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/portable_math.h"

namespace continuo::compute::cpu {

namespace {

/// Sums of a window with `width` columns of weights, [k][pitch].
void add_window(const ConvTask& task, const float* x, const float* weights, std::int64_t pitch, std::int64_t width, float* sums) {
  for (std::int64_t tap = 0; tap < task.taps; ++tap) {
    const float* run = x + tap * task.tap_stride;
    for (std::int64_t i = 0; i < task.tap_length; ++i, weights += pitch) {
      for (std::int64_t lane = 0; lane < width; ++lane) sums[lane] += run[i] * weights[lane];
    }
  }
}

void finish(const ConvTask& task, std::int64_t row, std::int64_t column, float value) {
  if (task.bias != nullptr) value += task.bias[column];
  value = apply_activation(task.after, value);
  if (task.residual != nullptr) value += task.residual[row * task.residual_stride + column];
  task.y[row * task.y_stride + column] = value;
}

void conv(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  const std::int64_t k = task.taps * task.tap_length;
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const float* weights = static_cast<const float*>(task.panels) + panel * k * panel_width;
    const std::int64_t first = panel * panel_width;
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      float sums[panel_width] = {};
      add_window(task, task.x + row * task.x_stride, weights, panel_width, panel_width, sums);
      for (std::int64_t lane = 0; lane < panel_width && first + lane < task.n; ++lane)
        finish(task, row, first + lane, sums[lane]);
    }
  }
}

void conv_to_one(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end) {
  for (std::int64_t row = row_begin; row < row_end; ++row) {
    float sum = 0.0F;
    add_window(task, task.x + row * task.x_stride, static_cast<const float*>(task.panels), 1, 1, &sum);
    finish(task, row, 0, sum);
  }
}

float sigmoid(float x) { return 1.0F / (1.0F + std::exp(-x)); }

void lstm(const LstmTask& task, std::int64_t block_begin, std::int64_t block_end) {
  for (std::int64_t block = block_begin; block < block_end; ++block) {
    const float* weights = static_cast<const float*>(task.blocks) + block * task.width * 4 * lstm_units;
    float sums[4][lstm_units] = {};
    for (std::int64_t k = 0; k < task.width; ++k) {
      for (auto& of_gate : sums) {
        for (float& sum : of_gate) sum += task.hidden[k] * *weights++;
      }
    }
    for (std::int64_t unit = 0; unit < lstm_units && block * lstm_units + unit < task.width; ++unit) {
      const std::int64_t i = block * lstm_units + unit;
      const auto gate = [&](int which) { return sums[which][unit] + task.inputs[which * task.width + i]; };
      task.cell[i] = sigmoid(gate(1)) * task.cell[i] + sigmoid(gate(0)) * std::tanh(gate(2));
      task.out[i] = sigmoid(gate(3)) * std::tanh(task.cell[i]);
    }
  }
}

}  // namespace

const CodecKernels& portable_codec_kernels() {
  static constexpr CodecKernels table{conv, conv_to_one, lstm};
  return table;
}

}  // namespace continuo::compute::cpu
