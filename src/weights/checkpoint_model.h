// A checkpoint as the converter sees it, whoever wrote it: a config, and the tensors of musicgen_layout(config).
#pragma once

#include <functional>
#include <span>

#include "base/error.h"
#include "weights/model_config.h"
#include "weights/musicgen_layout.h"

namespace continuo::weights {

class CheckpointModel {
 public:
  virtual ~CheckpointModel() = default;
  /// Has passed check_config.
  virtual const ModelConfig& config() const = 0;

  using Sink = std::function<Status(std::span<const float>)>;
  /// Hands the tensor's values to `sink` in order, in pieces of at most a few megabytes. A value that is not finite is an error
  /// that names the tensor. `spec` is one of musicgen_layout(config()).
  virtual Status stream(const TensorSpec& spec, const Sink& sink) const = 0;
};

}  // namespace continuo::weights
