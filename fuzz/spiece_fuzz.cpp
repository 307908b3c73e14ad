// spiece.model: the look into the wire format without SentencePiece.
#include "fuzz/fuzz_support.h"
#include "weights/spiece_proto.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const auto summary = weights::inspect_spiece(fuzz::as_text(data, size));
  if (!summary) {
    fuzz::check_refusal(summary.error());
    return 0;
  }
  FUZZ_DEMAND(summary->count >= 1 && summary->unknown_id >= 0 && summary->unknown_id < summary->count);
  FUZZ_DEMAND(static_cast<std::size_t>(summary->count) <= size);
  return 0;
}
