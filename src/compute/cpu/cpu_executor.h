// The CPU executor: every operator done at once, by the kernels of one instruction set, over one thread pool.
#pragma once

#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/arena.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/packed_matrix.h"
#include "compute/executor.h"

namespace continuo::compute::cpu {

/// A page: for each layer and head a run of keys [page_positions, head_width], values of the same shape, and, if they are int8,
/// the keys' and the values' scales [2, page_positions].
class CpuKvPool final : public KvPool {
 public:
  CpuKvPool(const KvShape& shape, KvType type, int pages);
  std::int64_t bytes() const override { return static_cast<std::int64_t>(storage_.size()); }
  void fill_random(std::uint64_t seed) override;
  KvType type() const { return type_; }
  std::byte* run(int page, int layer, int head) const;

 private:
  KvType type_;
  std::int64_t run_bytes_;
  AlignedBytes storage_;
};

/// For each layer and head, keys [tokens, head_width] then values.
class CpuCrossKv final : public CrossKv {
 public:
  CpuCrossKv(int layers, int heads, int head_width, int tokens);
  std::int64_t bytes() const override { return static_cast<std::int64_t>(storage_.size()); }
  std::byte* run(int layer, int head) const;
  int tokens() const { return tokens_; }
  int heads() const { return heads_; }
  int head_width() const { return head_width_; }

 private:
  int heads_;
  int head_width_;
  int tokens_;
  AlignedBytes storage_;
};

class CpuExecutor final : public Executor {
 public:
  CpuExecutor(const Kernels& kernels, int threads);

  std::string isa() const override { return kernels_.name; }
  int threads() const override { return pool_.threads(); }

  Result<Linear> load_linear(std::span<const TensorView> weights, const TensorView* bias) override;
  Result<Norm> load_norm(NormKind kind, const TensorView& gain, const TensorView* bias, float epsilon) override;
  Result<Table> load_table(const TensorView& table) override;
  Result<Conv> load_conv(const TensorView& weight, const TensorView* bias, int stride, int dilation) override;
  Result<Conv> load_conv_transpose(const TensorView& weight, const TensorView* bias, int stride) override;
  Result<Lstm> load_lstm(const TensorView& w_ih, const TensorView& w_hh, const TensorView& b_ih, const TensorView& b_hh) override;
  std::int64_t weight_bytes(Linear linear) const override;

  void begin_pass() override { arena_.reset(); }
  Tensor write(std::span<const float> values, std::int64_t rows) override;
  void read(Tensor tensor, std::span<float> out) override;

  Tensor embed_sum(std::span<const Table> tables, std::span<const std::int32_t> ids, float scale,
                   std::span<const float> addend) override;
  Tensor norm(Norm norm, Tensor x) override;
  Tensor linear(Linear linear, Tensor x, Activation activation) override;
  Tensor norm_linear(Norm norm, Linear linear, Tensor x, Activation activation) override;
  Tensor linear_add(Linear linear, Tensor x, Tensor residual) override;
  Tensor multiply(Tensor a, Tensor b) override;
  Tensor add(Tensor a, Tensor b) override;
  Tensor encoder_attention(Tensor qkv, int heads, float scale, std::span<const float> bias) override;
  Tensor self_attention(Tensor qkv, KvPool& pool, int layer, std::span<const Row> rows) override;
  Tensor cross_attention(Tensor q, int layer, std::span<const Row> rows) override;
  Tensor conv(const Conv& conv, Tensor x, const Padding& padding, const ConvAround& around) override;
  Tensor conv_transpose(const Conv& conv, Tensor x, std::int64_t trim_left, std::int64_t trim_right,
                        const ConvAround& around) override;
  Tensor lstm(const Lstm& lstm, Tensor x) override;

  Result<std::unique_ptr<KvPool>> make_kv_pool(const KvShape& shape, KvType type, int pages) override;
  std::unique_ptr<CrossKv> make_cross_kv(int layers, int heads, int head_width, int tokens) override;
  void store_cross(CrossKv& cross, int layer, Tensor kv) override;
  double take_linear_seconds() override;

 private:
  struct NormWeights {
    NormKind kind;
    float epsilon;
    std::vector<float> gain;
    std::vector<float> bias;
  };
  struct LstmWeights {
    PackedMatrix input;  // with both biases
    PackedMatrix hidden;
  };

  Tensor make(std::int64_t rows, std::int64_t columns);
  /// Runs a prepared product over all threads; n and panels come from the matrix.
  void run_gemm(const PackedMatrix& matrix, Gemm task, std::int64_t rows);
  /// The same for quantised panels: quantises the rows of task.x first.
  void run_quant_gemm(const PackedMatrix& matrix, const Gemm& task, std::int64_t rows);
  /// Splits a product over the threads: body(row_begin, row_end, panel_begin, panel_end).
  template <class Body>
  void share(const PackedMatrix& matrix, std::int64_t rows, Body&& body);
  Tensor multiply_matrix(const PackedMatrix& matrix, Tensor x, Activation after, const Tensor* residual);
  /// Writes one position of one head into its run.
  void store_position(std::byte* run, std::int64_t slot, const float* key, const float* value, std::int64_t width, KvType type);
  /// x continued by the padding, with an activation applied, in arena memory: [left + time + right, columns].
  Tensor padded(Tensor x, const Padding& padding, Activation activation);

  const Kernels& kernels_;
  ThreadPool pool_;
  Arena arena_;
  std::vector<PackedMatrix> matrices_;
  std::vector<NormWeights> norms_;
  std::vector<TensorView> tables_;  // rows are read where they lie: few are touched
  std::vector<PackedMatrix> convs_;
  std::vector<LstmWeights> lstms_;
  double linear_seconds_ = 0.0;
};

}  // namespace continuo::compute::cpu
