// tokenizer.json (the Rust tokenizers' format) as the SentencePiece model it was made from, for checkpoints that have no
// spiece.model.
//
// Understood is what T5 tokenizers consist of: a Unigram vocabulary, a precompiled normaliser, words split at spaces and marked
// with U+2581. Anything else would give other ids, so it is refused by name. The <extra_id_n> tokens that transformers puts
// behind T5's vocabulary are no pieces and stay out: a prompt is text.
#pragma once

#include <string>

#include "base/error.h"

namespace continuo::weights {

/// A serialised ModelProto that gives the same ids.
Result<std::string> spiece_from_tokenizer_json(const std::string& path);

}  // namespace continuo::weights
