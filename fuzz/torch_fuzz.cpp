// Torch files (.bin): the archive, its pickle, then the values of every tensor in it. What the pickle holds has a target of its
// own, because a changed byte of it inside an archive fails at the checksum.
#include "fuzz/fuzz_support.h"
#include "weights/torch_archive.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const fuzz::InputFile input(data, size);
  const auto archive = weights::TorchArchive::open(input.path());
  if (!archive) {
    fuzz::check_refusal(archive.error());
    return 0;
  }
  std::uint64_t budget = 1U << 20;  // tensors may share a storage, so that many of them are more work than the file is long
  for (const auto& tensor : archive->pickle().tensors()) {
    const auto elements = static_cast<std::uint64_t>(tensor.elements());
    FUZZ_DEMAND(elements <= size);
    if (elements > budget) break;
    budget -= elements;
    std::uint64_t read = 0;
    const auto done = archive->stream(tensor, "tensor", 0, elements, [&](std::span<const float> part) -> Status {
      read += part.size();
      return {};
    });
    if (!done) fuzz::check_refusal(done.error());
    FUZZ_DEMAND(!done || read == elements);
  }
  return 0;
}
