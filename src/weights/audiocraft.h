// A checkpoint in audiocraft's own layout: a folder with state_dict.bin (the language model) and compression_state_dict.bin (the
// codec), each a torch file {"best_state": tensors, "xp.cfg": yaml}. The text encoder is not in them; it comes from a Hugging
// Face T5 folder (config.json, weights, tokenizer).
//
// open() compares every tensor with what the settings demand (tensor_match.h), as for the other checkpoints.
#pragma once

#include <string>
#include <utility>

#include "base/error.h"
#include "weights/checkpoint_model.h"
#include "weights/tensor_match.h"

namespace continuo::weights {

/// What can be said of a text encoder's folder before there is a checkpoint to go with it: its configuration and tokenizer are
/// read, and there are weights.
Status check_t5_folder(const std::string& folder);

class AudiocraftModel : public CheckpointModel {
 public:
  /// `t5` is the text encoder's folder; if it is empty, the error says which one is needed.
  static Result<AudiocraftModel> open(const std::string& folder, const std::string& t5);

  /// Whether a folder has audiocraft's language model in it.
  static bool in_folder(const std::string& folder);

  const ModelConfig& config() const override { return config_; }
  Status stream(const TensorSpec& spec, const Sink& sink) const override;

 private:
  AudiocraftModel(ModelConfig config, TensorMatch text, TensorMatch decoder, TensorMatch codec)
      : config_(std::move(config)), text_(std::move(text)), decoder_(std::move(decoder)), codec_(std::move(codec)) {}

  ModelConfig config_;
  TensorMatch text_, decoder_, codec_;
};

}  // namespace continuo::weights
