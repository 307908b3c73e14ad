// The bounds of every number in a ModelConfig, whoever filled it in.
//
// A config that passes cannot make later code overflow an int, divide by zero, index out of a table or allocate
// without measure: widths, counts and products have small caps, divisors are positive, floats are finite, the tokenizer's
// pieces all have a row in the embedding table. Names in messages are the keys of docs/gguf.md.
#pragma once

#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::weights {

/// One sentence on the first thing out of bounds. `origin` (a path) begins the sentence.
Status check_config(const ModelConfig& config, const std::string& origin);

}  // namespace continuo::weights
