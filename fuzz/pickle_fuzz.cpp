// The pickle inside a torch file, without the archive around it.
#include "fuzz/fuzz_support.h"
#include "weights/pickle.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  const std::string_view text = fuzz::as_text(data, size);
  const auto pickle = weights::Pickle::parse(std::vector<char>(text.begin(), text.end()));
  if (!pickle) {
    fuzz::check_refusal(pickle.error());
    return 0;
  }
  for (const auto& tensor : pickle->tensors()) {
    FUZZ_DEMAND(tensor.storage < pickle->storages().size() && tensor.shape.size() == tensor.stride.size());
    FUZZ_DEMAND(tensor.elements() >= 0 && tensor.offset >= 0);
    static_cast<void>(tensor.contiguous());
    if (tensor.elements() == 0) continue;  // its strides may be anything
    std::int64_t last = tensor.offset;
    for (std::size_t i = 0; i < tensor.shape.size(); ++i) last += (tensor.shape[i] - 1) * tensor.stride[i];
    FUZZ_DEMAND(last < pickle->storages()[tensor.storage].elements);
  }
  for (const char* key : {"best_state", "xp.cfg", "model"}) {
    const auto item = pickle->find(pickle->root(), key);
    if (!item) continue;
    if (const auto named = pickle->named_tensors(*item)) {
      for (const auto& [name, index] : *named) FUZZ_DEMAND(index < pickle->tensors().size());
    } else {
      fuzz::check_refusal(named.error());
    }
  }
  if (const auto named = pickle->named_tensors(pickle->root()); !named) fuzz::check_refusal(named.error());
  return 0;
}
