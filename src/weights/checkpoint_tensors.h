// The tensors of a checkpoint, whatever kind of file they are in: safetensors or torch's own, one file or several.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/error.h"
#include "weights/safetensors.h"
#include "weights/torch_checkpoint.h"

namespace continuo::weights {

struct CheckpointEntry {
  std::string dtype;                // in safetensors' words: "F32"
  std::vector<std::int64_t> shape;  // row-major
  std::size_t file = 0;
};

class CheckpointTensors {
 public:
  /// The weights in a Hugging Face folder: model.safetensors, else its shards (model.safetensors.index.json), else
  /// pytorch_model.bin, else its shards.
  static Result<CheckpointTensors> open_folder(const std::string& folder);
  /// Of one torch file that holds a dictionary of tensors somewhere.
  static Result<CheckpointTensors> of(TorchCheckpoint checkpoint);

  /// Whether open_folder would find something.
  static bool in_folder(const std::string& folder);

  const std::map<std::string, CheckpointEntry, std::less<>>& entries() const { return entries_; }

  using Sink = std::function<Status(std::span<const float>)>;
  /// Hands `count` values from the `first` on to `sink` in order, in pieces of at most a few megabytes. `name` is in entries()
  /// and the range inside the tensor. Types other than F32, F16 and BF16 are refused.
  Status stream(std::string_view name, std::uint64_t first, std::uint64_t count, const Sink& sink) const;
  /// The whole tensor.
  Result<std::vector<float>> read(std::string_view name) const;

 private:
  using File = std::variant<SafetensorsFile, TorchCheckpoint>;
  Status add_shards(const std::string& folder, const std::string& index, std::string_view ending);
  Status add_file(const std::string& path);
  Status add(File file);

  std::vector<File> files_;
  std::map<std::string, CheckpointEntry, std::less<>> entries_;
};

}  // namespace continuo::weights
