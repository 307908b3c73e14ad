#include "text/tokenizer.h"

#include <sentencepiece_processor.h>

#include "weights/text_check.h"

namespace continuo::text {

namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, int end_id)
      : processor_(std::move(processor)), end_id_(end_id) {}

  Result<std::vector<int>> encode(const std::string& prompt) const override {
    if (!weights::valid_utf8(prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not valid UTF-8 text");
    std::vector<int> ids;
    if (const auto status = processor_->Encode(prompt, &ids); !status.ok()) {
      return fail(ErrorCode::invalid_argument, "the prompt cannot be split into tokens: {}", status.ToString());
    }
    ids.push_back(end_id_);
    return ids;
  }

 private:
  std::unique_ptr<sentencepiece::SentencePieceProcessor> processor_;
  int end_id_;
};

}  // namespace

Result<std::unique_ptr<Tokenizer>> Tokenizer::create(const weights::TokenizerConfig& config, int vocabulary) {
  auto processor = std::make_unique<sentencepiece::SentencePieceProcessor>();
  if (const auto status = processor->LoadFromSerializedProto(config.model_proto); !status.ok()) {
    return fail(ErrorCode::corrupt_file, "the model's tokenizer cannot be read ({}); convert the model again", status.ToString());
  }
  if (processor->GetPieceSize() > vocabulary) {
    return fail(ErrorCode::corrupt_file,
                "the model's tokenizer has {} pieces, but its text encoder only {} embeddings; they do not belong together",
                processor->GetPieceSize(), vocabulary);
  }
  return std::make_unique<SentencePieceTokenizer>(std::move(processor), config.end_id);
}

}  // namespace continuo::text
