#include "weights/hub_files.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <set>
#include <string_view>

namespace continuo::weights {

namespace {

using Files = std::vector<RemoteFile>;

const RemoteFile* find(const Files& files, std::string_view name) {
  const auto found = std::find_if(files.begin(), files.end(), [&](const RemoteFile& file) { return file.name == name; });
  return found == files.end() ? nullptr : &*found;
}

bool five_digits(std::string_view text) {
  return text.size() == 5 && std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

/// model-00001-of-00002.safetensors, as transformers names the parts.
bool is_shard(std::string_view name, std::string_view stem, std::string_view ending) {
  constexpr std::string_view middle = "-of-";
  if (name.size() != stem.size() + 1 + 5 + middle.size() + 5 + ending.size()) return false;
  if (!name.starts_with(stem) || !name.ends_with(ending)) return false;
  name = name.substr(stem.size(), name.size() - stem.size() - ending.size());
  return name[0] == '-' && five_digits(name.substr(1, 5)) && name.substr(6, 4) == middle && five_digits(name.substr(10));
}

/// One file, or the shards with their index; empty if there is neither.
Files weights_named(const Files& listed, const std::string& stem, const std::string& ending) {
  if (const auto* single = find(listed, stem + ending)) return {*single};
  const auto* index = find(listed, stem + ending + ".index.json");
  if (index == nullptr) return {};
  Files files{*index};
  std::set<std::string_view> taken;  // a list may name a file twice
  for (const RemoteFile& file : listed) {
    if (is_shard(file.name, stem, ending) && taken.insert(file.name).second) files.push_back(file);
  }
  return files.size() > 1 ? files : Files();
}

Files audiocraft_weights(const Files& listed) {
  const auto* decoder = find(listed, audiocraft_decoder);
  const auto* codec = find(listed, "compression_state_dict.bin");
  return decoder != nullptr && codec != nullptr ? Files{*decoder, *codec} : Files();
}

Files companions(const Files& listed) {
  static constexpr std::array names{"config.json",
                                    "generation_config.json",
                                    "preprocessor_config.json",
                                    "tokenizer_config.json",
                                    "spiece.model",
                                    "README.md",
                                    "LICENSE",
                                    "LICENSE.md",
                                    "LICENSE.txt"};
  Files files;
  for (const char* name : names) {
    if (const auto* file = find(listed, name)) files.push_back(*file);
  }
  // The same tokenizer again in another form; only wanted where it is the only one.
  const auto* other = find(listed, "tokenizer.json");
  if (other != nullptr && find(listed, "spiece.model") == nullptr) files.push_back(*other);
  return files;
}

}  // namespace

Result<NeededFiles> needed_files(const std::vector<RemoteFile>& listed, const std::string& where) {
  NeededFiles needed;
  needed.about = companions(listed);
  if (find(listed, "config.json") != nullptr) {
    needed.weights = weights_named(listed, "model", ".safetensors");
    if (needed.weights.empty()) needed.weights = weights_named(listed, "pytorch_model", ".bin");
  }
  if (needed.weights.empty()) needed.weights = audiocraft_weights(listed);
  if (needed.weights.empty()) {
    return fail(ErrorCode::unsupported,
                "{} holds no MusicGen checkpoint: there must be config.json with model.safetensors or pytorch_model.bin, or "
                "audiocraft's state_dict.bin and compression_state_dict.bin",
                where);
  }
  return needed;
}

std::uint64_t total_bytes(const std::vector<RemoteFile>& files) {
  std::uint64_t total = 0;
  for (const RemoteFile& file : files) total = saturating_sum(total, file.size);
  return total;
}

std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b) {
  return a + std::min(b, std::numeric_limits<std::uint64_t>::max() - a);
}

}  // namespace continuo::weights
