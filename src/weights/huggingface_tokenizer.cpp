#include "weights/huggingface_tokenizer.h"

#include <utility>

#include "base/file.h"
#include "weights/spiece_proto.h"
#include "weights/tokenizer_json.h"

namespace continuo::weights {

namespace {
constexpr std::size_t proto_bytes_max = std::size_t{16} << 20;
}

Status read_huggingface_tokenizer(const std::string& folder, TokenizerConfig& tokenizer) {
  std::string path = folder + "/spiece.model";
  auto proto = read_text_file(path, proto_bytes_max);
  if (!proto && proto.error().code == ErrorCode::not_found) {
    path = folder + "/tokenizer.json";
    proto = spiece_from_tokenizer_json(path);
  }
  if (!proto && proto.error().code == ErrorCode::not_found) {
    return fail(
        ErrorCode::not_found,
        "{}: there is no spiece.model and no tokenizer.json; copy one of them from the T5 that the model was trained with "
        "into the folder",
        folder);
  }
  if (!proto) return forward_error(proto.error());
  const auto summary = inspect_spiece(*proto);
  if (!summary) return fail(ErrorCode::corrupt_file, "{}: this is not a SentencePiece model: {}", path, summary.error().message);
  tokenizer.unknown_id = summary->unknown_id;
  tokenizer.model_proto = std::move(*proto);
  return {};
}

}  // namespace continuo::weights
