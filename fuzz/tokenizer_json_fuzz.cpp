// tokenizer.json. What comes of it is a ModelProto that our own look into such files accepts.
#include "fuzz/fuzz_support.h"
#include "weights/spiece_proto.h"
#include "weights/tokenizer_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const fuzz::InputFile input(data, size);
  const auto proto = weights::spiece_from_tokenizer_json(input.path());
  if (!proto) {
    fuzz::check_refusal(proto.error());
    return 0;
  }
  const auto summary = weights::inspect_spiece(*proto);
  FUZZ_DEMAND(summary && summary->count >= 1 && summary->unknown_id >= 0 && summary->unknown_id < summary->count);
  return 0;
}
