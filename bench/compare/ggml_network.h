// All linear layers of a MusicGen decoder as one ggml graph, with a tensor of its own for every matrix, so that the weights come
// from memory as they do in a step. Each layer's input is the output of the one before, so the values in between stay in the
// cache, as they do in a step too; attention, norms and activations are left out.
#pragma once

#include <ggml-backend.h>
#include <ggml-cpp.h>
#include <ggml.h>

#include <cstdint>
#include <string>
#include <vector>

namespace continuo::compare {

struct Sizes {
  int width = 1024;
  int layers = 24;
  int codebooks = 4;
  int vocabulary = 2048;
};

/// Where the weights lie: as in a file, or as one of the back-end's "extra buffer types" repacks them.
struct Layout {
  std::string name;
  ggml_backend_buffer_type_t buffer_type;
};

/// The layouts in which the CPU back-end multiplies every matrix of these sizes.
std::vector<Layout> layouts_for(ggml_backend_t backend, ggml_type type, const Sizes& sizes);

class Network {
 public:
  /// Random weights; the same in every layout. Ends the program if ggml has no memory for them.
  Network(ggml_type type, const Sizes& sizes, const std::vector<Layout>& layouts);

  /// Milliseconds of a pass over `rows` rows for each layout: the fastest of `passes`, taken by turns after one to warm up.
  std::vector<double> time(ggml_backend_t backend, int rows, int passes) const;
  /// How far a product in that layout is from the same product in double precision with the same rounded weights, as a share of
  /// its rms: what rounding the activations costs, and much more if a layout is wrong.
  double error(ggml_backend_t backend, std::size_t layout, int rows) const;
  /// Of one layout.
  std::int64_t weight_bytes() const { return weight_bytes_; }

 private:
  struct Matrix {
    int in, out;
  };
  struct Stored {
    ggml_context_ptr context;
    ggml_backend_buffer_ptr buffer;
    std::vector<ggml_tensor*> weights;  // [out, in] each, in the order of matrices_
  };

  ggml_type type_;
  std::vector<Matrix> matrices_;
  std::vector<Stored> stored_;  // one for each layout
  std::vector<float> first_;    // [out, in], the first matrix as rounded
  std::int64_t weight_bytes_ = 0;
};

}  // namespace continuo::compare
