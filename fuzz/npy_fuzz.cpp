// NPY files. What was read has as many values as its shape says, and its shape survives being written and read again.
#include "audio/npy.h"
#include "fuzz/fuzz_support.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const auto array = audio::decode_npy(std::as_bytes(std::span(data, size)), "input");
  if (!array) {
    fuzz::check_refusal(array.error());
    return 0;
  }
  std::uint64_t product = 1;  // may wrap where a dimension is 0, and is 0 then all the same
  for (const std::int64_t extent : array->shape) product *= static_cast<std::uint64_t>(extent);
  std::visit(
      [&](const auto& values) {
        FUZZ_DEMAND(values.size() == product);
        const auto again = audio::decode_npy(audio::encode_npy(array->shape, values), "again");
        FUZZ_DEMAND(again && again->shape == array->shape && again->values.index() == array->values.index());
      },
      array->values);
  return 0;
}
