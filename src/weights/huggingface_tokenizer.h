// The tokenizer of a Hugging Face folder: spiece.model, or tokenizer.json where there is no other.
#pragma once

#include <string>

#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::weights {

/// Fills in model_proto and unknown_id; the other ids stand in config.json.
Status read_huggingface_tokenizer(const std::string& folder, TokenizerConfig& tokenizer);

}  // namespace continuo::weights
