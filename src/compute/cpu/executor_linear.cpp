// Tensors in and out, embeddings, norms and products.
#include <algorithm>
#include <cassert>

#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

Tensor CpuExecutor::make(std::int64_t rows, std::int64_t columns) { return {arena_.floats(rows * columns), rows, columns}; }

Tensor CpuExecutor::write(std::span<const float> values, std::int64_t rows) {
  Tensor tensor = make(rows, static_cast<std::int64_t>(values.size()) / rows);
  std::copy(values.begin(), values.end(), tensor.data);
  return tensor;
}

void CpuExecutor::assign(Tensor to, Tensor from) {
  assert(to.rows == from.rows && to.columns == from.columns);
  std::copy(from.data, from.data + from.rows * from.columns, to.data);
}

void CpuExecutor::read(Tensor tensor, std::span<float> out) {
  assert(static_cast<std::int64_t>(out.size()) == tensor.rows * tensor.columns);
  std::copy(tensor.data, tensor.data + tensor.rows * tensor.columns, out.begin());
}

Tensor CpuExecutor::embed_sum(std::span<const Table> tables, std::span<const std::int32_t> ids, float scale,
                              std::span<const float> addend) {
  const Profile::Timed timed(profile_, "embed");
  const auto count = static_cast<std::int64_t>(tables.size());
  Tensor y = make(static_cast<std::int64_t>(ids.size()) / count, tables[0].width);
  const std::span<float> entry(arena_.floats(y.columns), static_cast<std::size_t>(y.columns));
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const std::span<float> row(y.data + r * y.columns, static_cast<std::size_t>(y.columns));
    std::fill(row.begin(), row.end(), 0.0F);
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int32_t id = ids[static_cast<std::size_t>(r * count + t)];
      assert(id >= 0 && id < tables[static_cast<std::size_t>(t)].entries);
      tables_[static_cast<std::size_t>(tables[static_cast<std::size_t>(t)].id)].row(id).to_float(entry);
      for (std::size_t i = 0; i < row.size(); ++i) row[i] += scale * entry[i];
    }
    if (!addend.empty()) {
      for (std::int64_t i = 0; i < y.columns; ++i)
        y.data[r * y.columns + i] += addend[static_cast<std::size_t>(r * y.columns + i)];
    }
  }
  return y;
}

Tensor CpuExecutor::norm(Norm norm, Tensor x) {
  const Profile::Timed timed(profile_, "norm");
  const NormWeights& weights = norms_[static_cast<std::size_t>(norm.id)];
  Tensor y = make(x.rows, x.columns);
  for_rows(x.rows, [&](std::int64_t r) { normalise(weights, x.data + r * x.columns, x.columns, y.data + r * x.columns); });
  return y;
}

void CpuExecutor::normalise(const NormWeights& weights, const float* x, std::int64_t width, float* y) const {
  if (weights.kind == NormKind::layer) {
    kernels_.layer_norm(x, weights.gain.data(), weights.bias.data(), weights.epsilon, width, y);
  } else {
    kernels_.rms_norm(x, weights.gain.data(), weights.epsilon, width, y);
  }
}

template <class Body>
void CpuExecutor::share(const PackedMatrix& matrix, std::int64_t rows, Body&& body) {
  const std::int64_t panels = matrix.panel_count();
  // Many rows: blocks of them, so that a block of x stays in the cache; few rows: the threads share the panels. About four
  // tasks a thread even out unequal progress; small products are not worth sharing.
  const std::int64_t row_block = 96;
  const std::int64_t row_blocks = (rows + row_block - 1) / row_block;
  const std::int64_t work = rows * matrix.in * matrix.out;
  std::int64_t panel_tasks = 1;
  if (work > 60'000) {
    panel_tasks = std::clamp<std::int64_t>((4 * pool_.threads() + row_blocks - 1) / row_blocks, 1, (panels + 5) / 6);
  }
  const std::int64_t panels_a_task = (panels + panel_tasks - 1) / panel_tasks;
  pool_.parallel_for(row_blocks * panel_tasks, [&](std::int64_t index) {
    const std::int64_t row = index / panel_tasks * row_block;
    const std::int64_t panel = index % panel_tasks * panels_a_task;
    if (panel >= panels) return;
    body(row, std::min(rows, row + row_block), panel, std::min(panels, panel + panels_a_task));
  });
}

void CpuExecutor::run_gemm(const PackedMatrix& matrix, Gemm task, std::int64_t rows) {
  if (matrix.quant != QuantKind::none) return run_quant_gemm(matrix, task, rows);
  task.panels = matrix.panels.data();
  task.half = matrix.half;
  task.k = matrix.in;
  task.n = matrix.out;
  task.bias = matrix.bias.empty() ? nullptr : matrix.bias.data();
  share(matrix, rows, [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
    kernels_.gemm(task, row_begin, row_end, panel_begin, panel_end);
  });
}

void CpuExecutor::run_quant_gemm(const PackedMatrix& matrix, const Gemm& task, std::int64_t rows, const NormWeights* norm) {
  const QuantKernels& kernels = *kernels_.quant;
  const int bits = matrix.quant == QuantKind::q8 ? kernels.q8_bits : 8;
  const std::int64_t blocks = matrix.in / quant_block, block_bytes = quant_block * bits / 8;
  auto* values = reinterpret_cast<std::byte*>(arena_.floats(rows * blocks * block_bytes / 4));
  float* scales = arena_.floats(rows * blocks);
  auto* sums = reinterpret_cast<std::int32_t*>(arena_.floats(rows * blocks));
  float* normalised = norm == nullptr ? nullptr : arena_.floats(rows * matrix.in);
  for_rows(rows, [&](std::int64_t r) {
    const float* x = task.x + r * task.x_stride;
    if (norm != nullptr) {
      normalise(*norm, x, matrix.in, normalised + r * matrix.in);
      x = normalised + r * matrix.in;
    }
    kernels.quantise(x, blocks, rows, bits, sum_factor(matrix.quant), values + r * block_bytes, scales + r, sums + r);
  });
  QuantGemm quant{};
  quant.kind = matrix.quant;
  quant.payload = matrix.panels.data();
  quant.scales = reinterpret_cast<const std::uint16_t*>(matrix.scales.data());
  quant.scales_f32 = reinterpret_cast<const float*>(matrix.scales.data());
  quant.blocks = blocks;
  quant.n = matrix.out;
  quant.rows = rows;
  quant.x = values;
  quant.x_scales = scales;
  quant.x_sums = sums;
  quant.y = task.y;
  quant.y_stride = task.y_stride;
  quant.bias = matrix.bias.empty() ? nullptr : matrix.bias.data();
  quant.residual = task.residual;
  quant.residual_stride = task.residual_stride;
  quant.after = task.after;
  share(matrix, rows, [&](std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
    kernels.gemm(quant, row_begin, row_end, panel_begin, panel_end);
  });
}

Tensor CpuExecutor::multiply_matrix(const PackedMatrix& matrix, Tensor x, Activation after, const Tensor* residual,
                                    const NormWeights* norm) {
  assert(x.columns == matrix.in);
  Profile::Timed timed(profile_, "linear", matrix.in, matrix.out, true);
  timed.add(matrix.bytes(), x.rows * matrix.in * matrix.out);
  Tensor y = make(x.rows, matrix.out);
  Gemm task{};
  task.x = x.data;
  task.x_stride = x.columns;
  task.y = y.data;
  task.y_stride = y.columns;
  task.residual = residual == nullptr ? nullptr : residual->data;
  task.residual_stride = y.columns;
  task.after = after;
  if (norm == nullptr) {
    run_gemm(matrix, task, x.rows);
  } else {
    run_quant_gemm(matrix, task, x.rows, norm);
  }
  return y;
}

Tensor CpuExecutor::linear(Linear linear, Tensor x, Activation activation) {
  return multiply_matrix(matrices_[static_cast<std::size_t>(linear.id)], x, activation, nullptr);
}

Tensor CpuExecutor::norm_linear(Norm norm, Linear linear, Tensor x, Activation activation) {
  const PackedMatrix& matrix = matrices_[static_cast<std::size_t>(linear.id)];
  if (matrix.quant == QuantKind::none) return this->linear(linear, this->norm(norm, x), activation);
  return multiply_matrix(matrix, x, activation, nullptr, &norms_[static_cast<std::size_t>(norm.id)]);
}

Tensor CpuExecutor::linear_add(Linear linear, Tensor x, Tensor residual) {
  return multiply_matrix(matrices_[static_cast<std::size_t>(linear.id)], x, Activation::none, &residual);
}

Tensor CpuExecutor::multiply(Tensor a, Tensor b) {
  Tensor y = make(a.rows, a.columns);
  for (std::int64_t i = 0; i < a.rows * a.columns; ++i) y.data[i] = a.data[i] * b.data[i];
  return y;
}

Tensor CpuExecutor::add(Tensor a, Tensor b) {
  Tensor y = make(a.rows, a.columns);
  for (std::int64_t i = 0; i < a.rows * a.columns; ++i) y.data[i] = a.data[i] + b.data[i];
  return y;
}

}  // namespace continuo::compute::cpu
