// Where each tensor of docs/gguf.md stands in audiocraft's two files; the text encoder has a folder of its own (t5_names).
#pragma once

#include <string_view>

#include "weights/model_config.h"
#include "weights/tensor_match.h"

namespace continuo::weights {

/// In best_state of state_dict.bin. Queries, keys and values are one fused tensor there.
SourceNames audiocraft_decoder_names(const ModelConfig& config);
/// In best_state of compression_state_dict.bin. Layers are numbered as transformers numbers them.
SourceNames audiocraft_codec_names(const ModelConfig& config);

/// True for what the files may hold besides: training statistics, codebooks beyond those in use, tables that are computed.
bool is_audiocraft_decoder_leftover(std::string_view name, const ModelConfig& config);
bool is_audiocraft_codec_leftover(std::string_view name, const ModelConfig& config);
/// What a whole T5 holds besides its encoder.
bool is_t5_leftover(std::string_view name);

}  // namespace continuo::weights
