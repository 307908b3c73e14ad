// The CPU executor: every operator done at once, by the kernels of one instruction set, over one thread pool.
#pragma once

#include <algorithm>
#include <memory>
#include <vector>

#include "base/thread_pool.h"
#include "compute/cpu/arena.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/packed_matrix.h"
#include "compute/cpu/profile.h"
#include "compute/executor.h"

namespace continuo::compute::cpu {

/// Pages lie in blocks of `pages_a_block`; in a block a run for each layer, page and head, in this order: pages that follow each
/// other are one stretch of memory in each layer. A block has memory only while one of its pages has an owner.
class CpuKvPool final : public KvPool {
 public:
  CpuKvPool(const KvShape& shape, KvType type, int pages);
  std::int64_t bytes() const override { return pages() * page_bytes_; }
  void fill_random(std::uint64_t seed) override;
  const KvLayout& layout() const { return layout_; }
  /// The run of the layer's first head.
  std::byte* run(int page, int layer) const {
    const std::int64_t place = static_cast<std::int64_t>(layer) * pages_a_block + page % pages_a_block;
    return blocks_[static_cast<std::size_t>(page / pages_a_block)].memory.data() + place * shape().heads * layout_.run_bytes;
  }

 private:
  struct Block {
    AlignedBytes memory;
    int owned = 0;
  };
  void prepare(std::span<const int> pages) override;
  void dispose(std::span<const int> pages) override;

  KvLayout layout_;
  std::int64_t page_bytes_;
  std::vector<Block> blocks_;
};

/// The same pages, one after the other, for the keys and values of one prompt.
class CpuCrossKv final : public CrossKv {
 public:
  CpuCrossKv(const KvShape& shape, KvType type, int tokens);
  std::int64_t bytes() const override { return static_cast<std::int64_t>(storage_.size()); }
  std::span<std::byte> data() override { return {storage_.data(), storage_.size()}; }
  std::span<const std::byte> data() const override { return {storage_.data(), storage_.size()}; }
  const KvLayout& layout() const { return layout_; }
  std::byte* run(int page, int layer) const;
  int tokens() const { return tokens_; }
  int heads() const { return shape_.heads; }

 private:
  KvShape shape_;
  KvLayout layout_;
  int tokens_;
  AlignedBytes storage_;
};

class CpuCarry final : public Carry {
 public:
  CpuCarry(std::int64_t columns, std::int64_t capacity, std::int64_t zeros);
  std::int64_t bytes() const override { return static_cast<std::int64_t>(storage_.size()); }
  float* row(std::int64_t index) const { return reinterpret_cast<float*>(storage_.data()) + index * columns_; }
  /// Replaces what is held by the last `count` rows before `end`.
  void hold(const float* end, std::int64_t count);

 private:
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
  Mark mark() override { return arena_.mark(); }
  void rewind(Mark mark) override { arena_.rewind(mark); }
  void assign(Tensor to, Tensor from) override;
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
  Tensor lstm(const Lstm& lstm, Tensor x, Carry* state) override;
  std::unique_ptr<Carry> make_carry(std::int64_t columns, std::int64_t capacity, std::int64_t zeros) override;
  Tensor join(Carry& carry, Tensor x, const Padding& padding, std::int64_t keep, Activation before) override;
  Tensor slice(Tensor x, std::int64_t begin, std::int64_t rows) override;

  std::int64_t kv_page_bytes(const KvShape& shape, KvType type) const override;
  Result<std::unique_ptr<KvPool>> make_kv_pool(const KvShape& shape, KvType type, int pages) override;
  std::unique_ptr<CrossKv> make_cross_kv(const KvShape& shape, KvType type, int tokens) override;
  void store_cross(CrossKv& cross, int layer, Tensor kv) override;
  // The layout (kv_layout.h) is the same everywhere, the rounding is not. Count up when either changes.
  std::string cross_layout() const override { return "cpu pages 1 " + isa(); }
  std::vector<OperatorTime> take_profile() override { return profile_.take(); }

 private:
  struct NormWeights {
    NormKind kind;
    float epsilon;
    std::vector<float> gain;
    std::vector<float> bias;
  };
  struct ConvWeights {
    PackedMatrix matrix;
    std::vector<float> single;  // of the only output channel
  };
  struct LstmWeights {
    ConvWeights input;    // with both biases
    AlignedBytes blocks;  // the recurrent weights, as LstmTask wants them
    bool half = false;
  };

  Tensor make(std::int64_t rows, std::int64_t columns);
  /// Runs a prepared product over all threads; n and panels come from the matrix.
  void run_gemm(const PackedMatrix& matrix, Gemm task, std::int64_t rows);
  /// The same for quantised panels: quantises the rows of task.x first.
  void run_quant_gemm(const PackedMatrix& matrix, const Gemm& task, std::int64_t rows, const NormWeights* norm = nullptr);
  /// Splits a product over the threads: body(row_begin, row_end, panel_begin, panel_end).
  template <class Body>
  void share(const PackedMatrix& matrix, std::int64_t rows, Body&& body);
  Tensor multiply_matrix(const PackedMatrix& matrix, Tensor x, Activation after, const Tensor* residual,
                         const NormWeights* norm = nullptr);
  void normalise(const NormWeights& weights, const float* x, std::int64_t width, float* y) const;
  /// Small work for each row: body(row). A few rows are not worth waking the other threads.
  template <class Body>
  void for_rows(std::int64_t rows, Body&& body);
  /// Writes one position of all heads: key and value [heads, width].
  void store_position(const KvLayout& layout, int heads, std::byte* run, std::int64_t slot, const float* key,
                      const float* value) const;
  /// What one row of an attention hears: pages of one sequence or prompt; none: its result is zero.
  struct Heard {
    const KvLayout* layout = nullptr;
    const std::byte* const* runs = nullptr;  // one for each page
    int positions = 0;
  };
  /// q [rows] of `columns`, `q_stride` apart -> [rows, columns]
  Tensor attend_rows(const float* q, std::int64_t q_stride, std::int64_t columns, int heads, std::span<const Heard> heard);
  /// Runs a prepared product over the windows of a convolution; weights, bias and n come from it.
  void run_conv(const ConvWeights& weights, ConvTask task, std::int64_t rows);
  /// [left | carry, if there is one | activation(x) | right] in arena memory.
  Tensor padded(const CpuCarry* carry, Tensor x, const Padding& padding, Activation activation);

  /// A matrix as it stays: in the slabs.
  PackedMatrix kept(PackedMatrix matrix) {
    matrix.panels = slabs_.keep(matrix.panels);
    matrix.scales = slabs_.keep(matrix.scales);
    return matrix;
  }

  const Kernels& kernels_;
  Slabs slabs_;
  ThreadPool pool_;
  Arena arena_;
  std::vector<PackedMatrix> matrices_;
  std::vector<NormWeights> norms_;
  std::vector<TensorView> tables_;  // rows are read where they lie: few are touched
  std::vector<ConvWeights> convs_;
  std::vector<LstmWeights> lstms_;
  std::vector<const std::byte*> runs_;  // of the attention in progress
  std::vector<Heard> heard_;
  Profile profile_;
};

template <class Body>
void CpuExecutor::for_rows(std::int64_t rows, Body&& body) {
  const std::int64_t few = 4, most = 16;  // rows of a task
  const std::int64_t a_task =
      rows < few ? few : std::clamp<std::int64_t>((rows + pool_.threads() - 1) / pool_.threads(), 2, most);
  pool_.parallel_for((rows + a_task - 1) / a_task, [&](std::int64_t task) {
    for (std::int64_t r = task * a_task; r < std::min(rows, (task + 1) * a_task); ++r) body(r);
  });
}

}  // namespace continuo::compute::cpu
