// config.json and its companions in a Hugging Face MusicGen folder, as a ModelConfig.
//
// transformers leaves out what equals its own defaults, so those defaults stand here (configuration_musicgen.py,
// configuration_encodec.py and configuration_t5.py of transformers 5.24). What this version cannot run (other text
// encoders or codecs, group norm, normalised or chunked audio) is refused in one sentence that names what was found.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::weights {

/// Reads config.json, the feature extractor's file (optional, of a melody model), generation_config.json (optional), the
/// tokenizer and the model card. The result has passed check_config.
Result<ModelConfig> read_huggingface_config(const std::string& folder);

/// A T5's configuration, which is a part of that config.json or the config.json of a T5 folder: fills in the text encoder and the
/// tokenizer's special ids. `where` begins a complaint.
Status read_t5_config(const nlohmann::json& part, const std::string& where, ModelConfig& config);

}  // namespace continuo::weights
