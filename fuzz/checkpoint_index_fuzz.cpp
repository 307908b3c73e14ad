// The index of a sharded checkpoint, as safetensors' and as torch's. Two good shards of each kind lie in the folder, and a file
// that must never be opened lies where a path would lead to: beside the folder and in a folder inside it.
#include <filesystem>

#include "fuzz/fuzz_support.h"
#include "weights/checkpoint_tensors.h"
#include "weights/torch_fixtures_test.h"

namespace {

using namespace continuo;

constexpr const char* indexes[] = {"model.safetensors.index.json", "pytorch_model.bin.index.json"};

void lay_out(const fuzz::InputFolder& folder) {
  using namespace weights::testing;
  const auto tensors = [](const char* name) { return Tensors{{name, Floats{{2}, {1.0F, 2.0F}}}}; };
  folder.write("a.safetensors", safetensors_of(tensors("a")));
  folder.write("b.safetensors", safetensors_of(tensors("b")));
  folder.write("a.bin", torch_of(tensors("a")));
  folder.write("b.bin", torch_of(tensors("b")));
  std::filesystem::create_directory(folder.path("sub"));
  for (const char* place : {"../", "sub/"}) {
    folder.write(place + std::string("c.safetensors"), safetensors_of(tensors("outside")));
    folder.write(place + std::string("c.bin"), torch_of(tensors("outside")));
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const fuzz::InputFolder folder({indexes[0], indexes[1]});
  static const bool ready = (lay_out(folder), true);
  FUZZ_DEMAND(ready);
  for (const char* index : indexes) {
    folder.fill("");
    std::filesystem::remove(folder.path(indexes[0]));
    folder.write(index, fuzz::as_text(data, size));
    const auto tensors = weights::CheckpointTensors::open_folder(folder.path());
    if (!tensors) {
      fuzz::check_refusal(tensors.error());
      continue;
    }
    FUZZ_DEMAND(!tensors->entries().empty() && !tensors->entries().contains("outside"));
    for (const auto& [name, entry] : tensors->entries()) FUZZ_DEMAND(tensors->read(name)->size() == 2);
  }
  return 0;
}
