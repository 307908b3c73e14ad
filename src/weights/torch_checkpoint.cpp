#include "weights/torch_checkpoint.h"

#include <cassert>
#include <utility>

namespace continuo::weights {

Result<TorchCheckpoint> TorchCheckpoint::open(TorchArchive archive, PickleId dict) {
  TorchCheckpoint checkpoint;
  const auto named = archive.pickle().named_tensors(dict);
  if (!named) return fail(named.error().code, "{}: {}", archive.path(), named.error().message);
  for (const auto& [name, index] : *named) {
    const TorchTensor& tensor = archive.pickle().tensors()[index];
    checkpoint.entries_.emplace(name, TorchEntry{std::string(archive.storage_of(tensor).dtype), tensor.shape, index});
  }
  checkpoint.archive_ = std::move(archive);
  return checkpoint;
}

Status TorchCheckpoint::stream(std::string_view name, std::uint64_t first, std::uint64_t count,
                               const TorchArchive::Sink& sink) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end());
  return archive_.stream(archive_.pickle().tensors()[found->second.tensor], name, first, count, sink);
}

}  // namespace continuo::weights
