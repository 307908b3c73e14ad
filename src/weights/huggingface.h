// A Hugging Face MusicGen folder: its config, and its tensors under our names (docs/gguf.md).
//
// open() compares every tensor with what config.json demands, so that parts of different models never meet in one file: a
// missing tensor, another shape, or one that the config knows nothing of is refused by name. Weight norm is folded as the
// tensors are read. One file or several with an index (model.safetensors.index.json).
#pragma once

#include <cstddef>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/error.h"
#include "weights/huggingface_names.h"
#include "weights/model_config.h"
#include "weights/musicgen_layout.h"
#include "weights/safetensors.h"

namespace continuo::weights {

class HuggingFaceModel {
 public:
  static Result<HuggingFaceModel> open(const std::string& folder);

  const ModelConfig& config() const { return config_; }

  /// Hands the tensor's values to `sink` in order, in pieces of at most a few megabytes. A value that is not finite is an error
  /// that names the tensor. `spec` is one of musicgen_layout(config()).
  Status stream(const TensorSpec& spec, const SafetensorsFile::Sink& sink) const;

 private:
  /// Where a tensor is: one entry, or two that are folded into one.
  struct Place {
    std::string name;  // in the checkpoint
    std::string gain;  // of a weight-normed tensor, else empty
    std::size_t file = 0;
    std::size_t gain_file = 0;
  };
  Status open_files();
  Status add_file(const std::string& name);
  Status resolve();
  Result<Place> find(const TensorSpec& spec, const SourceTensor& source, std::unordered_map<std::string, std::size_t>& unused);
  Status expect(const std::string& name, std::size_t file, const Shape& shape) const;
  Result<std::vector<float>> fold(const Place& place) const;

  std::string folder_;
  ModelConfig config_;
  std::vector<SafetensorsFile> files_;
  std::unordered_map<std::string, Place> places_;  // by our name
};

}  // namespace continuo::weights
