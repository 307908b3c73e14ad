// The models on this machine: folders of GGUF files, found by name.
//
// A name is the file's name without ".gguf". Folders come in the order of preference; a name in an earlier folder wins. Only
// headers are read. A file that cannot be used is listed with its reason: a model that silently does not appear helps nobody.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/error.h"

namespace continuo::weights {

struct InstalledModel {
  std::string path;
  std::string name;
  std::uint64_t bytes = 0;
  std::string license;
  std::string summary;  // "MusicGen, 24 layers of 1024, f16, 32 kHz mono, up to 30 s"
  std::string problem;  // why it cannot be used; empty for a good one, which alone has license and summary
};

/// The models in these folders, by folder and then by name. Folders that do not exist are passed over.
std::vector<InstalledModel> list_models(const std::vector<std::string>& dirs);

/// The path of a model: an existing file, or the name of an installed one. The error says what there is.
Result<std::string> find_model(const std::string& name_or_path, const std::vector<std::string>& dirs);

/// CONTINUO_MODELS (folders separated by ':'), $XDG_DATA_HOME/continuo/models, models/ next to the program and beside its folder,
/// and share/continuo/models beside its folder, which is an installed program's own. executable_path may be empty.
std::vector<std::string> default_model_dirs(const std::string& executable_path);

/// The model that is used when nobody asks for one.
inline constexpr const char* default_model_name = "demo";

}  // namespace continuo::weights
