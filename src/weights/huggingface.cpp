#include "weights/huggingface.h"

#include <algorithm>
#include <array>
#include <cassert>
#include <cmath>
#include <filesystem>
#include <set>
#include <utility>

#include "weights/huggingface_config.h"
#include "weights/json_text.h"
#include "weights/text_check.h"
#include "weights/weight_norm.h"

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t index_bytes_max = std::size_t{16} << 20;
constexpr std::size_t files_max = 256;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// Says what a path is if it is not a Hugging Face model folder.
Status check_folder(const std::string& folder) {
  std::error_code ignored;
  if (!exists(folder)) return fail(ErrorCode::not_found, "{} does not exist", folder);
  if (!fs::is_directory(folder, ignored)) {
    return fail(ErrorCode::unsupported, "{} is a file; what can be converted is a Hugging Face model folder", folder);
  }
  if (exists(folder + "/config.json")) return {};
  if (exists(folder + "/state_dict.bin")) {
    return fail(ErrorCode::unsupported, "{} is an audiocraft folder, which is not supported by this version yet", folder);
  }
  return fail(ErrorCode::not_found, "{} is not a Hugging Face model folder: it has no config.json", folder);
}

std::string shape_text(const std::vector<std::int64_t>& shape) {
  std::string text = "[";
  for (std::size_t i = 0; i < shape.size(); ++i) text += (i > 0 ? ", " : "") + std::to_string(shape[i]);
  return text + "]";
}

bool finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

Result<HuggingFaceModel> HuggingFaceModel::open(const std::string& folder) {
  CONTINUO_CHECK(check_folder(folder));
  HuggingFaceModel model;
  model.folder_ = folder;
  CONTINUO_TRY(model.config_, read_huggingface_config(folder));
  CONTINUO_CHECK(model.open_files());
  CONTINUO_CHECK(model.resolve());
  return model;
}

Status HuggingFaceModel::add_file(const std::string& name) {
  CONTINUO_TRY(SafetensorsFile file, SafetensorsFile::open(folder_ + "/" + name));
  files_.push_back(std::move(file));
  return {};
}

Status HuggingFaceModel::open_files() {
  if (exists(folder_ + "/model.safetensors")) return add_file("model.safetensors");
  const std::string index_path = folder_ + "/model.safetensors.index.json";
  if (!exists(index_path)) {
    if (exists(folder_ + "/pytorch_model.bin") || exists(folder_ + "/pytorch_model.bin.index.json")) {
      return fail(ErrorCode::unsupported,
                  "{} holds its weights as pytorch_model.bin, which is not supported by this version yet; "
                  "model.safetensors is",
                  folder_);
    }
    return fail(ErrorCode::not_found, "{} has no model.safetensors", folder_);
  }
  CONTINUO_TRY(const nlohmann::json index, read_json_object(index_path, index_bytes_max));
  const auto map = index.find("weight_map");
  std::set<std::string> names;
  if (map != index.end() && map->is_object()) {
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
    if (name.find('/') != std::string::npos || !name.ends_with(".safetensors")) {
      return fail(ErrorCode::corrupt_file, "{}: '{}' is not the name of a safetensors file", index_path, printable(name));
    }
    CONTINUO_CHECK(add_file(name));
  }
  return {};
}

Status HuggingFaceModel::resolve() {
  std::unordered_map<std::string, std::size_t> unused;  // tensor to file
  for (std::size_t i = 0; i < files_.size(); ++i) {
    for (const auto& [name, entry] : files_[i].entries()) {
      if (!unused.emplace(name, i).second) {
        return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is in two files", folder_, printable(name));
      }
    }
  }
  const auto names = huggingface_names(config_);
  for (const TensorSpec& spec : musicgen_layout(config_)) {
    const auto source = names.find(spec.name);
    assert(source != names.end() && "huggingface_names covers the layout");
    CONTINUO_TRY(Place place, find(spec, source->second, unused));
    places_.emplace(spec.name, std::move(place));
  }
  const std::string* stranger = nullptr;  // the first by name, so that the message is the same every time
  for (const auto& [name, file] : unused) {
    if (!is_leftover(name, config_) && (stranger == nullptr || name < *stranger)) stranger = &name;
  }
  if (stranger == nullptr) return {};
  return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is not part of the model that config.json describes", folder_,
              printable(*stranger));
}

Result<HuggingFaceModel::Place> HuggingFaceModel::find(const TensorSpec& spec, const SourceTensor& source,
                                                       std::unordered_map<std::string, std::size_t>& unused) {
  static constexpr std::array<std::pair<const char*, const char*>, 2> normed = {
      {{".weight_v", ".weight_g"}, {".parametrizations.weight.original1", ".parametrizations.weight.original0"}}};
  Place place;
  const auto use = [&](const std::string& name, std::size_t& file) {
    const auto found = unused.find(name);
    if (found == unused.end()) return false;
    file = found->second;
    unused.erase(found);
    return true;
  };
  place.name = source.weight_norm ? source.name + ".weight" : source.name;
  bool found = use(place.name, place.file);
  if (!found && spec.name == "text.embed.weight") {
    place.name = "text_encoder.encoder.embed_tokens.weight";  // where a checkpoint without the tied copy has it
    found = use(place.name, place.file);
  }
  for (const auto& [v, g] : normed) {
    if (found || !source.weight_norm || !use(source.name + v, place.file)) continue;
    found = true;
    place.name = source.name + v;
    place.gain = source.name + g;
    if (!use(place.gain, place.gain_file))
      return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is missing", folder_, place.gain);
    CONTINUO_CHECK(expect(place.gain, place.gain_file, Shape{spec.shape[0], 1, 1}));
  }
  if (!found) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' is missing, which config.json demands", folder_,
                source.weight_norm ? source.name + ".weight" : source.name);
  }
  CONTINUO_CHECK(expect(place.name, place.file, spec.shape));
  return place;
}

Status HuggingFaceModel::expect(const std::string& name, std::size_t file, const Shape& shape) const {
  const SafetensorsEntry& entry = files_[file].entries().find(name)->second;
  const std::vector<std::int64_t> wanted(shape.dims.begin(), shape.dims.begin() + shape.rank);
  if (entry.shape != wanted) {
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' has the shape {}, but config.json demands {}", folder_, name,
                shape_text(entry.shape), shape.to_string());
  }
  if (entry.dtype != "F32" && entry.dtype != "F16" && entry.dtype != "BF16") {
    return fail(ErrorCode::unsupported, "{}: tensor '{}' has the type {}; F32, F16 and BF16 are supported", folder_, name,
                entry.dtype);
  }
  return {};
}

Result<std::vector<float>> HuggingFaceModel::fold(const Place& place) const {
  CONTINUO_TRY(auto values, files_[place.file].read(place.name));
  CONTINUO_TRY(const auto gains, files_[place.gain_file].read(place.gain));
  fold_weight_norm(values, gains);
  return values;
}

Status HuggingFaceModel::stream(const TensorSpec& spec, const SafetensorsFile::Sink& sink) const {
  const auto found = places_.find(spec.name);
  assert(found != places_.end());
  const Place& place = found->second;
  const SafetensorsFile::Sink checked = [&](std::span<const float> values) -> Status {
    if (finite(values)) return sink(values);
    return fail(ErrorCode::corrupt_file, "{}: tensor '{}' holds values that are not finite numbers", folder_, place.name);
  };
  if (place.gain.empty()) return files_[place.file].stream(place.name, checked);
  CONTINUO_TRY(const auto values, fold(place));
  return checked(values);
}

}  // namespace continuo::weights
