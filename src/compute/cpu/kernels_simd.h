// The vectorised kernels, written once over the compiler's vector types. A translation unit sets CONTINUO_LANES (4, 8 or 16
// floats) and its name, is compiled for its instruction set, and includes this file once. Everything here has internal linkage
// and no inline function of the standard library is used, so that nothing of it can leak into code for other machines.
#include "compute/cpu/vectors_simd.h"

namespace continuo::compute::cpu {

namespace {

template <bool half>
Floats load_any(const std::byte* base, std::int64_t index) {
  if constexpr (half) {
    return load_half(reinterpret_cast<const std::uint16_t*>(base) + index);
  } else {
    return load(reinterpret_cast<const float*>(base) + index);
  }
}

Floats larger(Floats a, Floats b) { return a > b ? a : b; }

/// e^x, relative error below 2e-7; results beyond the float range saturate. Range reduction by Cody and Waite, then Taylor.
Floats exponential(Floats x) {
  x = x < -87.0F ? all(-87.0F) : x;
  x = x > 88.0F ? all(88.0F) : x;
  const Floats magic = all(12582912.0F);  // 1.5 x 2^23: adding it rounds to an integer in the low bits
  const Floats shifted = x * 1.44269504088896341F + magic;
  const Floats n = shifted - magic;
  const Floats r = (x - n * 0.693359375F) - n * -2.12194440e-4F;
  Floats p = all(1.0F / 5040.0F);
  p = p * r + 1.0F / 720.0F;
  p = p * r + 1.0F / 120.0F;
  p = p * r + 1.0F / 24.0F;
  p = p * r + 1.0F / 6.0F;
  p = p * r + 0.5F;
  p = p * r + 1.0F;
  p = p * r + 1.0F;
  const Ints power = (__builtin_convertvector(n, Ints) + 127) << 23;
  return p * __builtin_bit_cast(Floats, power);
}

Floats sigmoid(Floats x) { return 1.0F / (1.0F + exponential(-x)); }
Floats hyperbolic_tangent(Floats x) { return 1.0F - 2.0F / (1.0F + exponential(x + x)); }

/// Abramowitz and Stegun, Handbook of Mathematical Functions, formula 7.1.26: |error| of erfc at most 1.5e-7.
Floats gelu(Floats x) {
  const Floats z = (x < 0.0F ? -x : x) * 0.70710678118654752F;
  const Floats t = 1.0F / (1.0F + 0.3275911F * z);
  Floats p = all(1.061405429F);
  p = p * t + -1.453152027F;
  p = p * t + 1.421413741F;
  p = p * t + -0.284496736F;
  p = p * t + 0.254829592F;
  const Floats half_erfc = 0.5F * x * (p * t * exponential(-z * z));
  return x > 0.0F ? x - half_erfc : half_erfc;
}

__attribute__((noinline)) Floats apply(Activation activation, Floats x) {
  switch (activation) {
    case Activation::none: return x;
    case Activation::relu: return x > 0.0F ? x : all(0.0F);
    case Activation::gelu_erf: return gelu(x);
    case Activation::gelu_tanh: return 0.5F * x * (1.0F + hyperbolic_tangent(0.79788456080286536F * (x + 0.044715F * x * x * x)));
    case Activation::elu: return x > 0.0F ? x : exponential(x) - 1.0F;
  }
  return x;
}

/// What follows a product's sums, for one vector of a row: bias, activation, residual. Bias and sums are padded to whole panels,
/// residual and y end with the last column.
template <class Task>
__attribute__((always_inline)) inline void finish(const Task& task, std::int64_t row, std::int64_t column, Floats sum) {
  if (task.bias != nullptr) sum += load(task.bias + column);
  if (task.after != Activation::none) sum = apply(task.after, sum);
  const float* residual = task.residual == nullptr ? nullptr : task.residual + row * task.residual_stride + column;
  float* y = task.y + row * task.y_stride + column;
  if (column + lanes <= task.n) {
    if (residual != nullptr) sum += load(residual);
    store(y, sum);
  } else {
    for (int lane = 0; lane < lanes && column + lane < task.n; ++lane)
      y[lane] = sum[lane] + (residual == nullptr ? 0.0F : residual[lane]);
  }
}

/// One tile: `rows` rows by `panels` panels, all sums in registers, each running over k in order.
template <int rows, int panels, bool half>
void tile(const Gemm& task, std::int64_t row, std::int64_t panel) {
  constexpr int vectors = panels * panel_vectors;
  Floats sums[rows][vectors];
  for (auto& of_row : sums) {
    for (Floats& sum : of_row) sum = all(0.0F);
  }
  const float* x = task.x + row * task.x_stride;
  const std::int64_t panel_elements = task.k * panel_width;
  const std::byte* weights = static_cast<const std::byte*>(task.panels) + panel * panel_elements * (half ? 2 : 4);
  for (std::int64_t k = 0; k < task.k; ++k) {
    Floats w[vectors];
    for (int v = 0; v < vectors; ++v) {
      w[v] = load_any<half>(weights, (v / panel_vectors) * panel_elements + k * panel_width + (v % panel_vectors) * lanes);
    }
    for (int r = 0; r < rows; ++r) {
      const Floats value = all(x[r * task.x_stride + k]);
      for (int v = 0; v < vectors; ++v) sums[r][v] += value * w[v];
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) finish(task, row + r, panel * panel_width + v * lanes, sums[r][v]);
  }
}

template <int rows, int panels, bool half>
void strip(const Gemm& task, std::int64_t row, std::int64_t panel_begin, std::int64_t panel_end) {
  std::int64_t panel = panel_begin;
  for (; panel + panels <= panel_end; panel += panels) tile<rows, panels, half>(task, row, panel);
  for (; panel < panel_end; ++panel) tile<rows, 1, half>(task, row, panel);
}

// Tiles that keep about 8 to 24 sums in flight: enough to hide the latency of a multiply-add, few enough to stay in registers.
#if CONTINUO_LANES == 16
constexpr int tall = 8, tall_panels = 3, panels_of_1 = 8, panels_of_2 = 6, panels_of_3 = 4, panels_of_4 = 4;
#else  // 12 of 16 registers on AVX2, 24 of 32 on NEON
constexpr int tall = 6, tall_panels = 1, panels_of_1 = 4, panels_of_2 = 2, panels_of_3 = 1, panels_of_4 = 1;
#endif

template <bool half>
void gemm_rows(const Gemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  std::int64_t row = row_begin;
  // Tall tiles walk rows inside a group of panels, so that the group's weights stay in the cache.
  if (const std::int64_t rows = (row_end - row) / tall * tall; rows > 0) {
    for (std::int64_t panel = panel_begin; panel < panel_end; panel += tall_panels) {
      const std::int64_t end = panel + tall_panels < panel_end ? panel + tall_panels : panel_end;
      for (std::int64_t r = row; r < row + rows; r += tall) strip<tall, tall_panels, half>(task, r, panel, end);
    }
    row += rows;
  }
  for (; row_end - row >= 4; row += 4) strip<4, panels_of_4, half>(task, row, panel_begin, panel_end);
  switch (row_end - row) {
    case 3: strip<3, panels_of_3, half>(task, row, panel_begin, panel_end); break;
    case 2: strip<2, panels_of_2, half>(task, row, panel_begin, panel_end); break;
    case 1: strip<1, panels_of_1, half>(task, row, panel_begin, panel_end); break;
    default: break;
  }
}

void gemm(const Gemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  if (task.half) {
    gemm_rows<true>(task, row_begin, row_end, panel_begin, panel_end);
  } else {
    gemm_rows<false>(task, row_begin, row_end, panel_begin, panel_end);
  }
}

/// out[i] = sum over positions of weight x value, for `vectors` vectors of a value from element `first` on, all in registers.
template <int vectors>
void mix_values(const Attend& task, std::int64_t first, float scale) {
  Floats mix[vectors];
  for (Floats& part : mix) part = all(0.0F);
  for (std::int64_t p = 0; p < task.positions; ++p) {
    const Floats w = all(task.scores[p]);
    for (int v = 0; v < vectors; ++v) mix[v] += w * load(task.values + p * task.width + first + v * lanes);
  }
  for (int v = 0; v < vectors; ++v) store(task.out + first + v * lanes, mix[v] * scale);
}

void attend(const Attend& task) {
  const std::int64_t width = task.width;
  const std::int64_t whole = width / lanes * lanes;
  float top = -3.0e38F;
  for (std::int64_t p = 0; p < task.positions; ++p) {
    const float* key = task.keys + p * width;
    Floats sums = all(0.0F);
    for (std::int64_t i = 0; i < whole; i += lanes) sums += load(task.q + i) * load(key + i);
    float score = sum_of(sums);
    for (std::int64_t i = whole; i < width; ++i) score += task.q[i] * key[i];
    score = score * task.scale + task.bias[p];
    task.scores[p] = score;
    top = score > top ? score : top;
  }
  const std::int64_t whole_positions = task.positions / lanes * lanes;
  Floats sums = all(0.0F);
  for (std::int64_t p = 0; p < whole_positions; p += lanes) {
    const Floats weights = exponential(load(task.scores + p) - top);
    store(task.scores + p, weights);
    sums += weights;
  }
  float sum = sum_of(sums);
  for (std::int64_t p = whole_positions; p < task.positions; ++p) {
    const float weight = exponential(all(task.scores[p] - top))[0];
    task.scores[p] = weight;
    sum += weight;
  }
  const float scale = 1.0F / sum;
  std::int64_t i = 0;
  for (; i + 4 * lanes <= whole; i += 4 * lanes) mix_values<4>(task, i, scale);
  for (; i < whole; i += lanes) mix_values<1>(task, i, scale);
  for (; i < width; ++i) {
    float mix = 0.0F;
    for (std::int64_t p = 0; p < task.positions; ++p) mix += task.scores[p] * task.values[p * width + i];
    task.out[i] = mix * scale;
  }
}

void layer_norm(const float* x, const float* gain, const float* bias, float epsilon, std::int64_t width, float* y) {
  const std::int64_t whole = width / lanes * lanes;
  Floats sums = all(0.0F);
  for (std::int64_t i = 0; i < whole; i += lanes) sums += load(x + i);
  float mean = sum_of(sums);
  for (std::int64_t i = whole; i < width; ++i) mean += x[i];
  mean /= static_cast<float>(width);
  Floats squares = all(0.0F);
  for (std::int64_t i = 0; i < whole; i += lanes) squares += (load(x + i) - mean) * (load(x + i) - mean);
  float variance = sum_of(squares);
  for (std::int64_t i = whole; i < width; ++i) variance += (x[i] - mean) * (x[i] - mean);
  const float scale = 1.0F / __builtin_sqrtf(variance / static_cast<float>(width) + epsilon);
  for (std::int64_t i = 0; i < whole; i += lanes) {
    store(y + i, (load(x + i) - mean) * scale * load(gain + i) + load(bias + i));
  }
  for (std::int64_t i = whole; i < width; ++i) y[i] = (x[i] - mean) * scale * gain[i] + bias[i];
}

void rms_norm(const float* x, const float* gain, float epsilon, std::int64_t width, float* y) {
  const std::int64_t whole = width / lanes * lanes;
  Floats squares = all(0.0F);
  for (std::int64_t i = 0; i < whole; i += lanes) squares += load(x + i) * load(x + i);
  float sum = sum_of(squares);
  for (std::int64_t i = whole; i < width; ++i) sum += x[i] * x[i];
  const float scale = 1.0F / __builtin_sqrtf(sum / static_cast<float>(width) + epsilon);
  for (std::int64_t i = 0; i < whole; i += lanes) store(y + i, load(x + i) * scale * load(gain + i));
  for (std::int64_t i = whole; i < width; ++i) y[i] = x[i] * scale * gain[i];
}

void activate(Activation activation, const float* x, std::int64_t count, float* y) {
  std::int64_t i = 0;
  for (; i + lanes <= count; i += lanes) store(y + i, apply(activation, load(x + i)));
  for (; i < count; ++i) y[i] = apply(activation, all(x[i]))[0];
}

void float_to_half(const float* x, std::int64_t count, std::uint16_t* y) {
  for (std::int64_t i = 0; i < count; ++i) y[i] = to_half(x[i]);
}

}  // namespace

}  // namespace continuo::compute::cpu
