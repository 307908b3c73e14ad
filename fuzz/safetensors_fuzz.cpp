// Safetensors files: the header, then the values of every tensor whose type can be read.
#include "fuzz/fuzz_support.h"
#include "weights/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const fuzz::InputFile input(data, size);
  const auto file = weights::SafetensorsFile::open(input.path());
  if (!file) {
    fuzz::check_refusal(file.error());
    return 0;
  }
  for (const auto& [name, entry] : file->entries()) {
    FUZZ_DEMAND(entry.begin <= entry.end && entry.end <= size);
    const auto values = file->read(name);
    if (!values) {
      fuzz::check_refusal(values.error());
      continue;
    }
    FUZZ_DEMAND(static_cast<std::int64_t>(values->size()) == entry.elements());
    FUZZ_DEMAND(values->size() <= size);
    if (values->empty()) continue;
    const std::uint64_t last = values->size() - 1;
    const auto one = file->stream(name, last, 1, [](std::span<const float> part) -> Status {
      FUZZ_DEMAND(part.size() == 1);
      return {};
    });
    FUZZ_DEMAND(one.has_value());
  }
  return 0;
}
