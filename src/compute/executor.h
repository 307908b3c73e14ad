// The operators every network is written in. A network is written once against this interface; an executor carries it out
// (compute/cpu with our own kernels; a ggml graph for GPUs comes later). Operators are coarse, so that a fused kernel is the
// natural implementation.
//
// Invariants:
// - A Tensor is a float matrix [rows, columns], row-major. It belongs to the pass it was made in: begin_pass() ends its life.
// - Every result row depends only on its own inputs, never on which rows share the call or how many threads run: the same
//   request gives bit-identical results alone and in any batch.
// - Weights are loaded once and live as long as the executor. Their handles are plain values. Tables are read in place: the
//   bytes given to load_table must outlive the executor.
// - An executor runs one pass at a time, on one calling thread. Nothing here throws.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/network.h"
#include "base/tensor.h"
#include "compute/carry.h"
#include "compute/kv.h"

namespace continuo::compute {

struct Tensor {
  float* data = nullptr;  // the executor's; read it through Executor::read
  std::int64_t rows = 0;
  std::int64_t columns = 0;
};

/// A linear layer [out, in] with an optional bias.
struct Linear {
  int id = -1;
  int in = 0;
  int out = 0;
};

enum class NormKind { layer, rms };

struct Norm {
  int id = -1;
  int width = 0;
};

/// An embedding table [entries, width].
struct Table {
  int id = -1;
  int entries = 0;
  int width = 0;
};

struct Conv {
  int id = -1;
  int in = 0;
  int out = 0;
  int kernel = 0;
  int stride = 1;
  int dilation = 1;
};

struct Lstm {
  int id = -1;
  int width = 0;  // input and hidden size
};

struct Padding {
  std::int64_t left = 0;
  std::int64_t right = 0;
  PadMode mode = PadMode::constant;
};

/// The executor's own; see Executor::mark.
struct Mark {
  std::size_t place[2] = {};
};

/// What happens around a convolution. `before` acts on its input, `after` on its output, then the residual is added.
struct ConvAround {
  Activation before = Activation::none;
  Activation after = Activation::none;
  const Tensor* residual = nullptr;
};

/// One row of a decoder pass: which sequence it continues, where, and what it listens to.
struct Row {
  KvSequence* sequence = nullptr;
  int position = 0;
  const CrossKv* conditioning = nullptr;  // nullptr: the null row; its cross-attention output is zero
};

/// What the calls of one kind of operator took together.
struct OperatorTime {
  std::string name;  // and for products the shape
  bool linear = false;
  std::int64_t calls = 0;
  double seconds = 0.0;
  std::int64_t bytes = 0;          // weights, keys and values that had to be read
  std::int64_t multiply_adds = 0;  // of the products
};

class Executor {
 public:
  virtual ~Executor() = default;

  /// portable | avx2 | avxvnni | avx512vnni | neon
  virtual std::string isa() const = 0;
  virtual int threads() const = 0;

  // Loading. Errors: a tensor type that this executor cannot use.

  /// Stacks weights [out_i, in] along out; the bias, if any, is [sum of out_i].
  virtual Result<Linear> load_linear(std::span<const TensorView> weights, const TensorView* bias = nullptr) = 0;
  virtual Result<Norm> load_norm(NormKind kind, const TensorView& gain, const TensorView* bias, float epsilon) = 0;
  virtual Result<Table> load_table(const TensorView& table) = 0;
  /// weight [out, in, kernel]
  virtual Result<Conv> load_conv(const TensorView& weight, const TensorView* bias, int stride, int dilation) = 0;
  /// weight [in, out, kernel]
  virtual Result<Conv> load_conv_transpose(const TensorView& weight, const TensorView* bias, int stride) = 0;
  /// PyTorch's layout: w_ih, w_hh [4 width, width], gates i, f, g, o, two biases [4 width].
  virtual Result<Lstm> load_lstm(const TensorView& w_ih, const TensorView& w_hh, const TensorView& b_ih,
                                 const TensorView& b_hh) = 0;
  /// Bytes of the matrices that linear layers loaded so far read when each runs once.
  virtual std::int64_t weight_bytes(Linear linear) const = 0;

  // A pass.

  virtual void begin_pass() = 0;
  /// A place in the pass. rewind(mark) ends the life of the tensors made since, so that a signal can go through some layers piece
  /// by piece in the same, cached memory. Executors that plan a whole pass may do nothing.
  virtual Mark mark() = 0;
  virtual void rewind(Mark mark) = 0;
  /// Copies a tensor's values over another's of the same shape, so that a result survives a rewind.
  virtual void assign(Tensor to, Tensor from) = 0;
  /// Copies values [rows, columns] in.
  virtual Tensor write(std::span<const float> values, std::int64_t rows) = 0;
  /// Copies a tensor out; `out` has rows * columns places.
  virtual void read(Tensor tensor, std::span<float> out) = 0;

  /// y[r] = scale * sum_t tables[t][ids[r, t]] + addend[r]. ids [rows, tables] must be within the tables; addend is
  /// [rows, width] or empty. -> [rows, width]
  virtual Tensor embed_sum(std::span<const Table> tables, std::span<const std::int32_t> ids, float scale,
                           std::span<const float> addend) = 0;
  virtual Tensor norm(Norm norm, Tensor x) = 0;                                                  // [rows, width]
  virtual Tensor linear(Linear linear, Tensor x, Activation activation = Activation::none) = 0;  // [rows, out]
  virtual Tensor norm_linear(Norm norm, Linear linear, Tensor x, Activation activation = Activation::none) = 0;
  virtual Tensor linear_add(Linear linear, Tensor x, Tensor residual) = 0;  // [rows, out]
  virtual Tensor multiply(Tensor a, Tensor b) = 0;
  virtual Tensor add(Tensor a, Tensor b) = 0;

  /// Bidirectional attention inside one text. qkv [tokens, 3 heads head_width] (all queries, all keys, all values);
  /// scores are q.k * scale + bias[head, key - query + tokens - 1], bias [heads, 2 tokens - 1]. -> [tokens, heads head_width]
  virtual Tensor encoder_attention(Tensor qkv, int heads, float scale, std::span<const float> bias) = 0;

  /// Stores keys and values of qkv [rows, 3 width] at each row's position, then each row attends to positions 0 to its own in
  /// its sequence. Scores are scaled by 1 / sqrt(head width). Several rows of one sequence in a call are a prefill.
  virtual Tensor self_attention(Tensor qkv, KvPool& pool, int layer, std::span<const Row> rows) = 0;
  /// Each row attends to its conditioning; without one its result is zero. q [rows, width].
  virtual Tensor cross_attention(Tensor q, int layer, std::span<const Row> rows) = 0;

  /// x [time, in], time-major; -> [(time + left + right - dilation (kernel - 1) - 1) / stride + 1, out]
  virtual Tensor conv(const Conv& conv, Tensor x, const Padding& padding, const ConvAround& around) = 0;
  /// Each output block of `stride` rows hears taps = ceil(kernel / stride) neighbouring inputs, so the first taps - 1 rows of x
  /// are context only (zeros where a signal begins; as many zeros after its end bring out the rest). x [taps - 1 + time, in] ->
  /// [time stride - trim_left - trim_right, out]
  virtual Tensor conv_transpose(const Conv& conv, Tensor x, std::int64_t trim_left, std::int64_t trim_right,
                                const ConvAround& around) = 0;
  /// x [time, width] -> [time, width]. From zero state, or from the state (hidden, then cell: [2, width]) that an earlier call
  /// left; the state is then moved on.
  virtual Tensor lstm(const Lstm& lstm, Tensor x, Carry* state = nullptr) = 0;

  // Signals in pieces. A convolution over [what was carried | what is new] gives exactly the rows that a convolution over the
  // whole signal gives there, because each result row is computed the same way wherever it stands. A carry belongs to one signal.
  // To run several signals in one pass, join and lstm would take a carry for each group of rows; nothing else would change.

  /// Room for `capacity` rows; holds `zeros` rows of zeros at first.
  virtual std::unique_ptr<Carry> make_carry(std::int64_t columns, std::int64_t capacity, std::int64_t zeros) = 0;
  /// [padding.left | carry | before(x) | padding.right]; the padding continues what stands between. x may have no rows. The carry
  /// then holds the last `keep` rows before the padding on the right, those on the left included.
  virtual Tensor join(Carry& carry, Tensor x, const Padding& padding, std::int64_t keep,
                      Activation before = Activation::none) = 0;
  /// Rows begin to begin + rows of x; no copy.
  virtual Tensor slice(Tensor x, std::int64_t begin, std::int64_t rows) = 0;

  // Keys and values.

  virtual std::int64_t kv_page_bytes(const KvShape& shape, KvType type) const = 0;
  virtual Result<std::unique_ptr<KvPool>> make_kv_pool(const KvShape& shape, KvType type, int pages) = 0;
  /// Keys and values of one prompt for every layer, filled by store_cross.
  virtual std::unique_ptr<CrossKv> make_cross_kv(const KvShape& shape, KvType type, int tokens) = 0;
  /// kv [tokens, 2 width]: all keys, then all values of a row.
  virtual void store_cross(CrossKv& cross, int layer, Tensor kv) = 0;
  /// Names how a CrossKv's bytes are laid out, and the arithmetic that made them: bytes made under the same name may be
  /// exchanged.
  virtual std::string cross_layout() const = 0;

  /// Where the time went since the last call, an entry for each kind and shape of operator.
  virtual std::vector<OperatorTime> take_profile() = 0;
};

struct CpuOptions {
  int threads = 0;       // 0: one for each physical core
  std::string isa = "";  // empty: CONTINUO_ISA, or the best that the machine has
};

/// Errors: an instruction set that is unknown, or that this machine lacks.
Result<std::unique_ptr<Executor>> make_cpu_executor(const CpuOptions& options);

}  // namespace continuo::compute
