// From a checkpoint to one model file, tensor by tensor: memory stays at tens of megabytes whatever the model's size, because
// values pass through in pieces and read pages are handed back. The file appears complete or not at all.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/tensor.h"

namespace continuo::weights {

struct ConvertOptions {
  DType type = DType::f32;            // of the matrices and tables: f32 or f16
  std::string license, name, source;  // empty: what the folder says
  std::string description;
  std::function<void(double fraction)> progress;  // called on this thread; fraction of the bytes written
  std::function<bool()> cancelled;                // asked between pieces
};

/// Refuses values that are not finite, and for f16 values beyond its range, naming the tensor.
Status convert_huggingface(const std::string& folder, const std::string& output, const ConvertOptions& options);

}  // namespace continuo::weights
