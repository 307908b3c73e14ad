// Where each tensor of docs/gguf.md stands in a Hugging Face MusicGen checkpoint.
#pragma once

#include <string>
#include <string_view>

#include "weights/model_config.h"
#include "weights/tensor_match.h"

namespace continuo::weights {

/// By our name. The codec's layers are numbered through in the checkpoint, activations included (modeling_encodec.py), so their
/// numbers follow from the config.
SourceNames huggingface_names(const ModelConfig& config);

/// The text encoder's alone; `prefix` stands before the names of transformers' T5EncoderModel.
SourceNames t5_names(const T5Config& text, const std::string& prefix);

/// True for what a checkpoint may hold besides: tied copies, training statistics, tables that are computed.
bool is_leftover(std::string_view source_name, const ModelConfig& config);

}  // namespace continuo::weights
