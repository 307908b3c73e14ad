// From a checkpoint to one model file, tensor by tensor: memory stays at tens of megabytes whatever the model's size, because
// values pass through in pieces and read pages are handed back. The file appears complete or not at all.
#pragma once

#include <functional>
#include <string>

#include "base/error.h"
#include "base/tensor.h"

namespace continuo::weights {

struct ConvertOptions {
  DType type = DType::f32;            // of the matrices; what else becomes of the tables and the codec: tensor_types.h
  std::string license, name, source;  // empty: what the folder says
  std::string description;
  std::string t5;  // folder of the text encoder, which an audiocraft checkpoint does not have in it
  std::function<void(double fraction)> progress;  // called on this thread; fraction of the bytes written
  std::function<bool()> cancelled;                // asked between pieces
};

/// From whatever checkpoint `source` is: a Hugging Face folder, or audiocraft's (which wins over the other in the same folder if
/// options.t5 is given). Refuses values that are not finite, and values beyond the range of their type in the file, naming the
/// tensor.
Status convert(const std::string& source, const std::string& output, const ConvertOptions& options);

/// The same, knowing what it is.
Status convert_audiocraft(const std::string& folder, const std::string& output, const ConvertOptions& options);
Status convert_huggingface(const std::string& folder, const std::string& output, const ConvertOptions& options);

}  // namespace continuo::weights
