// GGUF model files: the walk over the header, the keys, and the comparison of every tensor with the layout.
#include "fuzz/fuzz_support.h"
#include "weights/musicgen_layout.h"
#include "weights/tensor_source.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const fuzz::InputFile input(data, size);
  const auto model = weights::open_model(input.path());
  if (!model) {
    fuzz::check_refusal(model.error());
    return 0;
  }
  std::size_t bytes = 0;
  for (const auto& spec : weights::musicgen_layout((*model)->config())) {
    FUZZ_DEMAND((*model)->has(spec.name));
    const TensorView view = (*model)->tensor(spec.name);
    FUZZ_DEMAND(view.shape == spec.shape);
    fuzz::touch(view.data);
    bytes += view.data.size();
  }
  FUZZ_DEMAND(bytes <= size);  // tensors do not share bytes
  (*model)->release_pages();
  return 0;
}
