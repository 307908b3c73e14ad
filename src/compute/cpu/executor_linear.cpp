// Tensors in and out, embeddings, norms and products.
#include <algorithm>
#include <cassert>
#include <chrono>
#include <cstring>

#include "base/half.h"
#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

namespace {

void add_table_row(const TensorView& table, std::int64_t index, float scale, std::span<float> sum) {
  const std::int64_t width = table.shape[1];
  const std::byte* row = table.data.data() + index * width * block_size(table.type).bytes;
  for (std::int64_t i = 0; i < width; ++i) {
    float value;
    if (table.type == DType::f32) {
      std::memcpy(&value, row + i * 4, 4);
    } else {
      std::uint16_t bits;
      std::memcpy(&bits, row + i * 2, 2);
      value = table.type == DType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
    }
    sum[static_cast<std::size_t>(i)] += scale * value;
  }
}

}  // namespace

Tensor CpuExecutor::make(std::int64_t rows, std::int64_t columns) { return {arena_.floats(rows * columns), rows, columns}; }

Tensor CpuExecutor::write(std::span<const float> values, std::int64_t rows) {
  Tensor tensor = make(rows, static_cast<std::int64_t>(values.size()) / rows);
  std::copy(values.begin(), values.end(), tensor.data);
  return tensor;
}

void CpuExecutor::read(Tensor tensor, std::span<float> out) {
  assert(static_cast<std::int64_t>(out.size()) == tensor.rows * tensor.columns);
  std::copy(tensor.data, tensor.data + tensor.rows * tensor.columns, out.begin());
}

Tensor CpuExecutor::embed_sum(std::span<const Table> tables, std::span<const std::int32_t> ids, float scale,
                              std::span<const float> addend) {
  const auto count = static_cast<std::int64_t>(tables.size());
  Tensor y = make(static_cast<std::int64_t>(ids.size()) / count, tables[0].width);
  for (std::int64_t r = 0; r < y.rows; ++r) {
    const std::span<float> row(y.data + r * y.columns, static_cast<std::size_t>(y.columns));
    std::fill(row.begin(), row.end(), 0.0F);
    for (std::int64_t t = 0; t < count; ++t) {
      const std::int32_t id = ids[static_cast<std::size_t>(r * count + t)];
      assert(id >= 0 && id < tables[static_cast<std::size_t>(t)].entries);
      add_table_row(tables_[static_cast<std::size_t>(tables[static_cast<std::size_t>(t)].id)], id, scale, row);
    }
    if (!addend.empty()) {
      for (std::int64_t i = 0; i < y.columns; ++i) y.data[r * y.columns + i] += addend[static_cast<std::size_t>(r * y.columns + i)];
    }
  }
  return y;
}

Tensor CpuExecutor::norm(Norm norm, Tensor x) {
  const NormWeights& weights = norms_[static_cast<std::size_t>(norm.id)];
  Tensor y = make(x.rows, x.columns);
  // A handful of rows is not worth waking the other threads.
  const std::int64_t rows_a_task = 16;
  pool_.parallel_for((x.rows + rows_a_task - 1) / rows_a_task, [&](std::int64_t task) {
    for (std::int64_t r = task * rows_a_task; r < std::min(x.rows, (task + 1) * rows_a_task); ++r) {
      const float* in = x.data + r * x.columns;
      float* out = y.data + r * x.columns;
      if (weights.kind == NormKind::layer) {
        kernels_.layer_norm(in, weights.gain.data(), weights.bias.data(), weights.epsilon, x.columns, out);
      } else {
        kernels_.rms_norm(in, weights.gain.data(), weights.epsilon, x.columns, out);
      }
    }
  });
  return y;
}

void CpuExecutor::run_gemm(const PackedMatrix& matrix, Gemm task, std::int64_t rows) {
  task.panels = matrix.panels.data();
  task.half = matrix.half;
  task.k = matrix.in;
  task.n = matrix.out;
  task.bias = matrix.bias.empty() ? nullptr : matrix.bias.data();
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
    kernels_.gemm(task, row, std::min(rows, row + row_block), panel, std::min(panels, panel + panels_a_task));
  });
}

Tensor CpuExecutor::multiply_matrix(const PackedMatrix& matrix, Tensor x, Activation after, const Tensor* residual) {
  assert(x.columns == matrix.in);
  const auto start = std::chrono::steady_clock::now();
  Tensor y = make(x.rows, matrix.out);
  Gemm task{};
  task.x = x.data;
  task.x_stride = x.columns;
  task.y = y.data;
  task.y_stride = y.columns;
  task.residual = residual == nullptr ? nullptr : residual->data;
  task.residual_stride = y.columns;
  task.after = after;
  run_gemm(matrix, task, x.rows);
  linear_seconds_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return y;
}

Tensor CpuExecutor::linear(Linear linear, Tensor x, Activation activation) {
  return multiply_matrix(matrices_[static_cast<std::size_t>(linear.id)], x, activation, nullptr);
}

Tensor CpuExecutor::norm_linear(Norm norm, Linear linear, Tensor x, Activation activation) {
  return this->linear(linear, this->norm(norm, x), activation);
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

double CpuExecutor::take_linear_seconds() {
  const double seconds = linear_seconds_;
  linear_seconds_ = 0.0;
  return seconds;
}

}  // namespace continuo::compute::cpu
