// A Hugging Face MusicGen folder: its config, and its tensors under our names (docs/gguf.md), each compared with what
// config.json demands (tensor_match.h). The weights may be safetensors or pytorch_model.bin, one file or several.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "weights/checkpoint_model.h"
#include "weights/tensor_match.h"

namespace continuo::weights {

class HuggingFaceModel : public CheckpointModel {
 public:
  static Result<HuggingFaceModel> open(const std::string& folder);

  const ModelConfig& config() const override { return config_; }
  Status stream(const TensorSpec& spec, const Sink& sink) const override { return tensors_.stream(spec, sink); }

 private:
  HuggingFaceModel(ModelConfig config, TensorMatch tensors) : config_(std::move(config)), tensors_(std::move(tensors)) {}

  ModelConfig config_;
  TensorMatch tensors_;
};

}  // namespace continuo::weights
