// Where the networks get their tensors: a mapped GGUF file, or random weights of the true sizes for benchmarks.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/tensor.h"
#include "weights/model_config.h"

namespace continuo::weights {

class TensorSource {
 public:
  virtual ~TensorSource() = default;
  virtual const ModelConfig& config() const = 0;
  /// The tensor of that name (docs/gguf.md). Asking for one that the architecture does not have is a programmer error:
  /// every tensor was checked when the file was opened. The bytes live as long as the source.
  virtual TensorView tensor(std::string_view name) const = 0;
  virtual bool has(std::string_view name) const = 0;
  /// Tells the system that the mapped bytes were repacked and need not stay in memory. May do nothing.
  virtual void release_pages() const {}
};

/// Opens and validates a model file. Errors name the file, what is wrong with it and what to do.
Result<std::unique_ptr<TensorSource>> open_model(const std::string& path);

/// Random weights, scaled so that activations stay of order 1. The tokenizer proto is empty.
/// shape: musicgen-small | musicgen-medium | musicgen-large. type: of the matrices (tensor_types.h); block types are made as
/// blocks, with the same variance.
Result<std::unique_ptr<TensorSource>> random_model(std::string_view shape, DType type, std::uint64_t seed);

}  // namespace continuo::weights
