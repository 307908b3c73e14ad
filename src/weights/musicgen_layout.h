// The tensors of a MusicGen model file: which ones there are, and in what shape (docs/gguf.md, "Tensors").
//
// This list is the one source of truth. The converter writes it, in this order; the loader refuses a file that differs from
// it; the random model is made from it. It is computed from the config alone.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/tensor.h"
#include "weights/model_config.h"

namespace continuo::weights {

enum class TensorKind {
  matrix,     // multiplied with activations: linear layers, convolutions, LSTM
  embedding,  // rows are looked up: token tables, codebooks
  gain,       // of a norm
  bias,
  table,  // T5's relative positions
};

struct TensorSpec {
  std::string name;
  Shape shape;
  TensorKind kind = TensorKind::matrix;
  std::int64_t fan_in = 1;  // of a matrix: products summed for one output

  /// Norms, biases and the table of relative positions are f32 in every file; of the rest, see tensor_types.h.
  bool always_f32() const { return kind != TensorKind::matrix && kind != TensorKind::embedding; }
};

/// The config has passed check_config (at least in its sizes).
std::vector<TensorSpec> musicgen_layout(const ModelConfig& config);

/// Whether decoder.text_proj and decoder.chroma_proj exist: where the widths differ, or config.always_projects.
bool has_text_projection(const ModelConfig& config);
bool has_chroma_projection(const ModelConfig& config);

}  // namespace continuo::weights
