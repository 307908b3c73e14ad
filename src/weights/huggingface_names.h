// Where each tensor of docs/gguf.md stands in a Hugging Face MusicGen checkpoint.
#pragma once

#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "weights/model_config.h"

namespace continuo::weights {

struct SourceTensor {
  std::string name;  // in the checkpoint; of a weight-normed one, without ".weight"
  bool weight_norm = false;
};

/// By our name. The codec's layers are numbered through in the checkpoint, activations included (modeling_encodec.py), so their
/// numbers follow from the config.
std::unordered_map<std::string, SourceTensor> huggingface_names(const ModelConfig& config);

/// True for what a checkpoint may hold besides: tied copies, training statistics, tables that are computed.
bool is_leftover(std::string_view source_name, const ModelConfig& config);

}  // namespace continuo::weights
