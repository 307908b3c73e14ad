#include "ggml_network.h"

#include <ggml-alloc.h>
#include <ggml-cpu.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <numeric>

namespace continuo::compare {

namespace {

constexpr std::size_t graph_tensors = 1024;  // with views; 24 layers have 170

template <class Pointer>
Pointer demand(Pointer pointer, const char* what) {
  if (!pointer) {
    std::fprintf(stderr, "ggml_linear: ggml gave no %s; is there enough memory?\n", what);
    std::exit(1);
  }
  return pointer;
}

ggml_context_ptr make_context(std::size_t tensors) {
  const std::size_t bytes = tensors * ggml_tensor_overhead() + ggml_graph_overhead_custom(tensors, false);
  return ggml_context_ptr(demand(ggml_init({bytes, nullptr, true}), "context"));
}

/// xorshift64*; uniform numbers whose products keep the size of their input.
class Random {
 public:
  explicit Random(std::uint64_t seed) : state_(seed * 0x9E3779B97F4A7C15ULL + 1) {}
  void fill(std::vector<float>& values, float rms) {
    const float amplitude = rms * std::sqrt(3.0F);
    for (float& value : values) {
      state_ ^= state_ >> 12;
      state_ ^= state_ << 25;
      state_ ^= state_ >> 27;
      const auto bits = static_cast<std::int32_t>((state_ * 0x2545F4914F6CDD1DULL) >> 32);
      value = amplitude * static_cast<float>(bits) / 2147483648.0F;
    }
  }

 private:
  std::uint64_t state_;
};

std::vector<float> random_rows(int width, int rows) {
  std::vector<float> values(static_cast<std::size_t>(width) * static_cast<std::size_t>(rows));
  Random(99).fill(values, 1.0F);
  return values;
}

/// A graph with its buffers, ready to run again and again.
struct Graph {
  ggml_context_ptr context;
  ggml_gallocr_ptr memory;
  ggml_cgraph* graph = nullptr;
  ggml_tensor* output = nullptr;

  void finish(ggml_tensor* input, ggml_tensor* last, const std::vector<float>& values) {
    ggml_set_input(input);
    graph = ggml_new_graph_custom(context.get(), graph_tensors, false);
    ggml_build_forward_expand(graph, last);
    output = last;
    memory.reset(demand(ggml_gallocr_new(ggml_backend_cpu_buffer_type()), "allocator"));
    if (!ggml_gallocr_alloc_graph(memory.get(), graph)) demand<void*>(nullptr, "memory for a graph");
    ggml_backend_tensor_set(input, values.data(), 0, ggml_nbytes(input));
  }
  void run(ggml_backend_t backend) const {
    if (ggml_backend_graph_compute(backend, graph) != GGML_STATUS_SUCCESS) demand<void*>(nullptr, "result");
  }
};

}  // namespace

std::vector<Layout> layouts_for(ggml_backend_t backend, ggml_type type, const Sizes& sizes) {
  std::vector<Layout> layouts = {{"plain", ggml_backend_cpu_buffer_type()}};
  ggml_backend_dev_t device = ggml_backend_get_device(backend);
  const auto extra = reinterpret_cast<ggml_backend_dev_get_extra_bufts_t>(
      ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(device), "ggml_backend_dev_get_extra_bufts"));
  if (extra == nullptr) return layouts;
  for (ggml_backend_buffer_type_t* type_pointer = extra(device); type_pointer != nullptr && *type_pointer != nullptr;
       ++type_pointer) {
    const ggml_context_ptr context = make_context(3);
    ggml_tensor* weight = ggml_new_tensor_2d(context.get(), type, sizes.width, sizes.width);
    ggml_tensor* product = ggml_mul_mat(context.get(), weight, ggml_new_tensor_2d(context.get(), GGML_TYPE_F32, sizes.width, 2));
    // The back-end judges a product by the buffer that its weights lie in; an empty one will do.
    const ggml_backend_buffer_ptr empty(ggml_backend_buft_alloc_buffer(*type_pointer, 0));
    if (!empty) continue;
    weight->buffer = empty.get();
    if (ggml_backend_dev_supports_op(device, product)) layouts.push_back({ggml_backend_buft_name(*type_pointer), *type_pointer});
  }
  return layouts;
}

Network::Network(ggml_type type, const Sizes& sizes, const std::vector<Layout>& layouts) : type_(type) {
  const int d = sizes.width;
  for (int layer = 0; layer < sizes.layers; ++layer) {
    // q, k and v in one, out; cross-attention's q and out (its keys and values are made once a request); up, down.
    for (const Matrix matrix : {Matrix{d, 3 * d}, {d, d}, {d, d}, {d, d}, {d, 4 * d}, {4 * d, d}}) matrices_.push_back(matrix);
  }
  matrices_.push_back({d, sizes.codebooks * sizes.vocabulary});  // the heads, as one

  for (const Layout& layout : layouts) {
    Stored stored{make_context(matrices_.size()), {}, {}};
    for (const Matrix& matrix : matrices_)
      stored.weights.push_back(ggml_new_tensor_2d(stored.context.get(), type, matrix.in, matrix.out));
    stored.buffer.reset(
        demand(ggml_backend_alloc_ctx_tensors_from_buft(stored.context.get(), layout.buffer_type), "memory for weights"));
    ggml_backend_buffer_set_usage(stored.buffer.get(), GGML_BACKEND_BUFFER_USAGE_WEIGHTS);
    stored_.push_back(std::move(stored));
  }
  std::vector<float> values;
  std::vector<std::uint8_t> blocks;
  for (std::size_t i = 0; i < matrices_.size(); ++i) {
    const auto [in, out] = matrices_[i];
    values.resize(static_cast<std::size_t>(in) * static_cast<std::size_t>(out));
    Random(i).fill(values, 1.0F / std::sqrt(static_cast<float>(in)));
    blocks.resize(ggml_row_size(type, in) * static_cast<std::size_t>(out));
    ggml_quantize_chunk(type, values.data(), blocks.data(), 0, out, in, nullptr);
    for (const Stored& stored : stored_) ggml_backend_tensor_set(stored.weights[i], blocks.data(), 0, blocks.size());
    weight_bytes_ += static_cast<std::int64_t>(blocks.size());
    if (i == 0) {
      first_.resize(values.size());
      ggml_get_type_traits(type)->to_float(blocks.data(), first_.data(), static_cast<std::int64_t>(first_.size()));
    }
  }
}

std::vector<double> Network::time(ggml_backend_t backend, int rows, int passes) const {
  const std::vector<float> values = random_rows(matrices_[0].in, rows);
  std::vector<Graph> graphs;
  for (const Stored& stored : stored_) {
    Graph graph{make_context(graph_tensors), {}, nullptr, nullptr};
    ggml_context* context = graph.context.get();
    ggml_tensor* input = ggml_new_tensor_2d(context, GGML_TYPE_F32, matrices_[0].in, rows);
    ggml_tensor* x = input;
    for (std::size_t i = 0; i < matrices_.size(); ++i) {
      // Attention makes one vector of q, k and v; here it is the first of them.
      if (x->ne[0] != matrices_[i].in) x = ggml_view_2d(context, x, matrices_[i].in, rows, x->nb[1], 0);
      x = ggml_mul_mat(context, stored.weights[i], x);
    }
    graph.finish(input, x, values);
    graphs.push_back(std::move(graph));
  }
  std::vector<double> best(graphs.size(), std::numeric_limits<double>::max());
  for (int pass = 0; pass <= passes; ++pass) {
    for (std::size_t i = 0; i < graphs.size(); ++i) {
      const auto start = std::chrono::steady_clock::now();
      graphs[i].run(backend);
      const std::chrono::duration<double, std::milli> time = std::chrono::steady_clock::now() - start;
      if (pass > 0) best[i] = std::min(best[i], time.count());
    }
  }
  return best;
}

double Network::error(ggml_backend_t backend, std::size_t layout, int rows) const {
  const auto [in, out] = matrices_[0];
  const std::vector<float> values = random_rows(in, rows);
  Graph graph{make_context(graph_tensors), {}, nullptr, nullptr};
  ggml_tensor* input = ggml_new_tensor_2d(graph.context.get(), GGML_TYPE_F32, in, rows);
  graph.finish(input, ggml_mul_mat(graph.context.get(), stored_[layout].weights[0], input), values);
  graph.run(backend);
  std::vector<float> result(static_cast<std::size_t>(out) * static_cast<std::size_t>(rows));
  ggml_backend_tensor_get(graph.output, result.data(), 0, result.size() * sizeof(float));
  double wrong = 0.0, whole = 0.0;
  for (int row = 0; row < rows; ++row) {
    for (int channel = 0; channel < out; ++channel) {
      const float* x = values.data() + static_cast<std::ptrdiff_t>(row) * in;
      const float* weights = first_.data() + static_cast<std::ptrdiff_t>(channel) * in;
      const double expected = std::inner_product(x, x + in, weights, 0.0, std::plus<>(), [](float a, float b) {
        return static_cast<double>(a) * static_cast<double>(b);
      });
      const double got =
          result[static_cast<std::size_t>(row) * static_cast<std::size_t>(out) + static_cast<std::size_t>(channel)];
      wrong += (got - expected) * (got - expected);
      whole += expected * expected;
    }
  }
  return std::sqrt(wrong / whole);
}

}  // namespace continuo::compare
