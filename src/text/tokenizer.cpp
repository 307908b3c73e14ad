#include "text/tokenizer.h"

#include <sentencepiece_processor.h>

namespace continuo::text {

namespace {

class SentencePieceTokenizer final : public Tokenizer {
 public:
  SentencePieceTokenizer(std::unique_ptr<sentencepiece::SentencePieceProcessor> processor, int end_id)
      : processor_(std::move(processor)), end_id_(end_id) {}

  Result<std::vector<int>> encode(const std::string& prompt) const override {
    if (!is_utf8(prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not valid UTF-8 text");
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

bool is_utf8(const std::string& text) {
  const auto* p = reinterpret_cast<const unsigned char*>(text.data());
  const auto* end = p + text.size();
  while (p < end) {
    const unsigned lead = *p++;
    if (lead < 0x80) continue;
    const int more = lead >= 0xF0 ? 3 : lead >= 0xE0 ? 2 : 1;
    if (lead < 0xC2 || lead > 0xF4 || end - p < more) return false;
    // The second byte's range rules out overlong forms, surrogates and what lies beyond U+10FFFF.
    const unsigned low = lead == 0xE0 ? 0xA0 : lead == 0xF0 ? 0x90 : 0x80;
    const unsigned high = lead == 0xED ? 0x9F : lead == 0xF4 ? 0x8F : 0xBF;
    if (p[0] < low || p[0] > high) return false;
    for (int i = 1; i < more; ++i) {
      if ((p[i] & 0xC0) != 0x80) return false;
    }
    p += more;
  }
  return true;
}

}  // namespace continuo::text
