#include "weights/checkpoint_tensors.h"

#include <array>
#include <cassert>
#include <filesystem>
#include <set>
#include <utility>

#include "weights/element_count.h"
#include "weights/json_text.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::size_t index_bytes_max = std::size_t{16} << 20;
constexpr std::size_t files_max = 256;

struct Form {
  const char* file;
  const char* index;   // of the shards
  const char* ending;  // of a shard's name
};
// The first that a folder has is read: safetensors needs no interpreter.
constexpr std::array<Form, 2> forms = {{{"model.safetensors", "model.safetensors.index.json", ".safetensors"},
                                        {"pytorch_model.bin", "pytorch_model.bin.index.json", ".bin"}}};

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

bool CheckpointTensors::in_folder(const std::string& folder) {
  for (const Form& form : forms) {
    if (exists(folder + "/" + form.file) || exists(folder + "/" + form.index)) return true;
  }
  return false;
}

Result<CheckpointTensors> CheckpointTensors::open_folder(const std::string& folder) {
  CheckpointTensors tensors;
  for (const Form& form : forms) {
    if (exists(folder + "/" + form.file)) {
      CONTINUO_CHECK(tensors.add_file(folder + "/" + form.file));
      return tensors;
    }
    if (exists(folder + "/" + form.index)) {
      CONTINUO_CHECK(tensors.add_shards(folder, form.index, form.ending));
      return tensors;
    }
  }
  return fail(ErrorCode::not_found, "{} has no model.safetensors and no pytorch_model.bin", folder);
}

Result<CheckpointTensors> CheckpointTensors::of(TorchCheckpoint checkpoint) {
  CheckpointTensors tensors;
  CONTINUO_CHECK(tensors.add(std::move(checkpoint)));
  return tensors;
}

Status CheckpointTensors::add_shards(const std::string& folder, const std::string& index, std::string_view ending) {
  const std::string index_path = folder + "/" + index;
  CONTINUO_TRY(const nlohmann::json content, read_json_object(index_path, index_bytes_max));
  const auto map = content.find("weight_map");
  std::set<std::string> names;
  if (map != content.end() && map->is_object()) {
    for (const auto& [tensor, file] : map->items()) {
      if (!file.is_string())
        return fail(ErrorCode::corrupt_file, "{}: weight_map holds something that is not a name", index_path);
      names.insert(file.get<std::string>());
    }
  }
  if (names.empty() || names.size() > files_max) {
    return fail(ErrorCode::corrupt_file, "{}: weight_map names {} files; 1 to {} are accepted", index_path, names.size(),
                files_max);
  }
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos || !single_line(name) || !name.ends_with(ending)) {
      return fail(ErrorCode::corrupt_file, "{}: '{}' is not the name of a {} file", index_path, printable(name),
                  ending == ".bin" ? "torch" : "safetensors");
    }
    CONTINUO_CHECK(add_file(folder + "/" + name));
  }
  return {};
}

Status CheckpointTensors::add_file(const std::string& path) {
  if (path.ends_with(".safetensors")) {
    CONTINUO_TRY(SafetensorsFile file, SafetensorsFile::open(path));
    return add(std::move(file));
  }
  CONTINUO_TRY(TorchArchive archive, TorchArchive::open(path));
  const PickleId root = archive.pickle().root();
  CONTINUO_TRY(TorchCheckpoint checkpoint, TorchCheckpoint::open(std::move(archive), root));
  return add(std::move(checkpoint));
}

Status CheckpointTensors::add(File file) {
  const std::size_t number = files_.size();
  const auto take = [&](const auto& from) -> Status {
    for (const auto& [name, entry] : from.entries()) {
      if (!entries_.emplace(name, CheckpointEntry{entry.dtype, entry.shape, number}).second) {
        return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is in another file too", from.path(), printable(name));
      }
    }
    return {};
  };
  CONTINUO_CHECK(std::visit(take, file));
  files_.push_back(std::move(file));
  return {};
}

Status CheckpointTensors::stream(std::string_view name, std::uint64_t first, std::uint64_t count, const Sink& sink) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end());
  return std::visit([&](const auto& file) { return file.stream(name, first, count, sink); }, files_[found->second.file]);
}

Result<std::vector<float>> CheckpointTensors::read(std::string_view name) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end());
  const auto elements = element_count(found->second.shape);
  if (!elements) return fail(ErrorCode::corrupt_file, "tensor '{}' has an impossible shape", printable(name));
  std::vector<float> values;
  CONTINUO_CHECK(stream(name, 0, static_cast<std::uint64_t>(*elements), [&](std::span<const float> part) -> Status {
    values.insert(values.end(), part.begin(), part.end());
    return {};
  }));
  return values;
}

}  // namespace continuo::weights
