// A dictionary of tensors in a torch file: the file's root (pytorch_model.bin), or an item of it ("best_state", "model").
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "weights/torch_archive.h"

namespace continuo::weights {

struct TorchEntry {
  std::string dtype;                // in safetensors' words: "F32"
  std::vector<std::int64_t> shape;  // row-major
  std::size_t tensor = 0;           // in the archive's pickle
};

class TorchCheckpoint {
 public:
  /// `dict` is the value in the archive's pickle that holds the tensors.
  static Result<TorchCheckpoint> open(TorchArchive archive, PickleId dict);

  const std::string& path() const { return archive_.path(); }
  const std::map<std::string, TorchEntry, std::less<>>& entries() const { return entries_; }

  /// See TorchArchive::stream. `name` is in entries().
  Status stream(std::string_view name, std::uint64_t first, std::uint64_t count, const TorchArchive::Sink& sink) const;

 private:
  TorchArchive archive_;
  std::map<std::string, TorchEntry, std::less<>> entries_;
};

}  // namespace continuo::weights
