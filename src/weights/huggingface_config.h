// config.json and its companions in a Hugging Face MusicGen folder, as a ModelConfig.
//
// transformers leaves out what equals its own defaults, so those defaults stand here (configuration_musicgen.py,
// configuration_encodec.py and configuration_t5.py of transformers 5.24). What this version cannot run (stereo, melody, other
// text encoders or codecs, group norm, normalised or chunked audio) is refused in one sentence that names what was found.
#pragma once

#include <string>

#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::weights {

/// Reads config.json, generation_config.json (optional), spiece.model and the model card. The result has passed check_config.
Result<ModelConfig> read_huggingface_config(const std::string& folder);

}  // namespace continuo::weights
