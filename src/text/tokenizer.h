// The T5 tokenizer: a SentencePiece model that travels inside the model file. A prompt is text: pieces such as "</s>" typed
// by a person are spelled out, not taken for control symbols. The end id is appended; nothing is truncated.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "weights/model_config.h"

namespace continuo::text {

class Tokenizer {
 public:
  /// Errors: a proto that SentencePiece cannot read, or one with more pieces than the text encoder has embeddings.
  static Result<std::unique_ptr<Tokenizer>> create(const weights::TokenizerConfig& config, int vocabulary);
  virtual ~Tokenizer() = default;

  /// Ids of the prompt, the end id last; [end id] for an empty prompt. Errors: text that is not UTF-8.
  virtual Result<std::vector<int>> encode(const std::string& prompt) const = 0;
};

}  // namespace continuo::text
