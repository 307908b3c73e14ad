// The walk over a GGUF header alone, of any architecture: far more of the inputs get to its end than to that of open_model.
#include <set>

#include "fuzz/fuzz_support.h"
#include "weights/gguf_file.h"
#include "weights/text_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const fuzz::InputFile input(data, size);
  const auto file = weights::GgufFile::open(input.path());
  if (!file) {
    fuzz::check_refusal(file.error());
    return 0;
  }
  for (const auto& [name, value] : file->keys()) {
    FUZZ_DEMAND(!name.empty() && weights::valid_utf8(name));
    FUZZ_DEMAND(file->find(name) == &value);
    fuzz::touch(value.data);
  }
  std::set<std::string> names;
  std::size_t bytes = 0;
  for (const auto& tensor : file->tensors()) {
    FUZZ_DEMAND(names.insert(tensor.name).second);
    FUZZ_DEMAND(tensor.shape.rank >= 1 && tensor.shape.elements() > 0);
    fuzz::touch(tensor.data);
    bytes += tensor.data.size();
  }
  FUZZ_DEMAND(bytes <= size);
  return 0;
}
