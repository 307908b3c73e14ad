// The reference: plain loops that any compiler and machine can run, and that the other tables are tested against.
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/portable_math.h"

namespace continuo::compute::cpu {

float apply_activation(Activation activation, float x) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x > 0.0F ? x : 0.0F;
    case Activation::gelu_erf: return 0.5F * x * (1.0F + std::erf(x * 0.70710678118654752F));
    case Activation::gelu_tanh: return 0.5F * x * (1.0F + std::tanh(0.79788456080286536F * (x + 0.044715F * x * x * x)));
    case Activation::elu: return x > 0.0F ? x : std::expm1(x);
  }
  return x;
}

namespace {

void gemm(const Gemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    const float* weights = static_cast<const float*>(task.panels) + panel * task.k * panel_width;
    const std::int64_t first = panel * panel_width;
    const std::int64_t width = task.n - first < panel_width ? task.n - first : panel_width;
    for (std::int64_t row = row_begin; row < row_end; ++row) {
      const float* x = task.x + row * task.x_stride;
      float sums[panel_width] = {};
      for (std::int64_t k = 0; k < task.k; ++k) {
        for (int lane = 0; lane < panel_width; ++lane) sums[lane] += x[k] * weights[k * panel_width + lane];
      }
      for (std::int64_t lane = 0; lane < width; ++lane) {
        float value = sums[lane];
        if (task.bias != nullptr) value += task.bias[first + lane];
        value = apply_activation(task.after, value);
        if (task.residual != nullptr) value += task.residual[row * task.residual_stride + first + lane];
        task.y[row * task.y_stride + first + lane] = value;
      }
    }
  }
}

void attend(const Attend& task) {
  float top = -INFINITY;
  for (std::int64_t p = 0; p < task.positions; ++p) {
    float score = 0.0F;
    for (int i = 0; i < task.width; ++i) score += task.q[i] * task.keys[p * task.width + i];
    score = score * task.scale + task.bias[p];
    task.scores[p] = score;
    top = score > top ? score : top;
  }
  for (int i = 0; i < task.width; ++i) task.out[i] = 0.0F;
  float sum = 0.0F;
  for (std::int64_t p = 0; p < task.positions; ++p) {
    const float weight = std::exp(task.scores[p] - top);
    sum += weight;
    for (int i = 0; i < task.width; ++i) task.out[i] += weight * task.values[p * task.width + i];
  }
  for (int i = 0; i < task.width; ++i) task.out[i] /= sum;
}

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, std::int64_t width, float* y) {
  double mean = 0.0;
  for (std::int64_t i = 0; i < width; ++i) mean += x[i];
  mean /= static_cast<double>(width);
  double variance = 0.0;
  for (std::int64_t i = 0; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
  variance /= static_cast<double>(width);
  const auto scale = static_cast<float>(1.0 / std::sqrt(variance + epsilon));
  const auto center = static_cast<float>(mean);
  for (std::int64_t i = 0; i < width; ++i) y[i] = (x[i] - center) * scale * gain[i] + bias[i];
}

void rms_norm(const float* x, const float* gain, float epsilon, std::int64_t width, float* y) {
  double sum = 0.0;
  for (std::int64_t i = 0; i < width; ++i) sum += static_cast<double>(x[i]) * x[i];
  const auto scale = static_cast<float>(1.0 / std::sqrt(sum / static_cast<double>(width) + epsilon));
  for (std::int64_t i = 0; i < width; ++i) y[i] = x[i] * scale * gain[i];
}

void activate(Activation activation, const float* x, std::int64_t count, float* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = apply_activation(activation, x[i]);
}

void to_half(const float* x, std::int64_t count, std::uint16_t* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = continuo::float_to_half(x[i]);
}

}  // namespace

const Kernels& portable_kernels() {
  static const QuantKernels& quant = portable_quant_kernels();
  static const CodecKernels& codec = portable_codec_kernels();
  static const Kernels table{"portable",          false,      gemm,     attend,   portable_attend_pages,
                             portable_join_parts, layer_norm, rms_norm, activate, to_half,
                             portable_store_int8, &quant,     &codec};
  return table;
}

}  // namespace continuo::compute::cpu
