#include "weights/installed.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "weights/tensor_source.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

std::string summary_of(const TensorSource& model) {
  const ModelConfig& config = model.config();
  const double seconds = config.decoder.max_frames / config.codec.frame_rate();
  const DType type = model.tensor("decoder.blk.0.ffn_up.weight").type;  // a file may mix types; most weights are of this kind
  return fmt::format("MusicGen{}, {} layers of {}, {}, {:g} kHz {}, up to {:.3g} s", config.is_melody() ? " melody" : "",
                     config.decoder.layers, config.decoder.width, continuo::name_of(type), config.codec.sample_rate / 1000.0,
                     config.decoder.audio_channels == 2 ? "stereo" : "mono", seconds);
}

InstalledModel describe(const fs::path& path) {
  InstalledModel model;
  model.path = path.string();
  model.name = path.stem().string();
  std::error_code ignored;
  const auto bytes = fs::file_size(path, ignored);
  model.bytes = ignored ? 0 : bytes;
  auto opened = open_model(model.path);
  if (!opened) {
    model.problem = opened.error().message;
    return model;
  }
  model.license = (*opened)->config().license;
  model.summary = summary_of(**opened);
  return model;
}

/// The GGUF files of one folder, by name. Anything unreadable counts as empty.
std::vector<fs::path> model_files(const std::string& dir) {
  std::vector<fs::path> files;
  std::error_code error;
  for (fs::directory_iterator it(dir, error), end; !error && it != end; it.increment(error)) {
    std::error_code ignored;
    if (it->path().extension() == ".gguf" && it->is_regular_file(ignored)) files.push_back(it->path());
  }
  std::sort(files.begin(), files.end());
  return files;
}

bool is_file(const fs::path& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

std::string names_in(const std::vector<std::string>& dirs) {
  std::vector<std::string> names;
  for (const std::string& dir : dirs) {
    for (const fs::path& path : model_files(dir)) names.push_back(printable(path.stem().string()));
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("{}", fmt::join(names, ", "));
}

/// Appends the folder unless the list has it.
void add_dir(std::vector<std::string>& dirs, const fs::path& dir) {
  const std::string text = dir.lexically_normal().string();
  if (!text.empty() && std::find(dirs.begin(), dirs.end(), text) == dirs.end()) dirs.push_back(text);
}

std::string_view environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string_view() : std::string_view(value);
}

}  // namespace

std::vector<InstalledModel> list_models(const std::vector<std::string>& dirs) {
  std::vector<InstalledModel> models;
  for (const std::string& dir : dirs) {
    for (const fs::path& path : model_files(dir)) models.push_back(describe(path));
  }
  return models;
}

Result<std::string> find_model(const std::string& name_or_path, const std::vector<std::string>& dirs) {
  if (is_file(name_or_path)) return name_or_path;
  const std::string shown = printable(name_or_path, 400);
  std::error_code ignored;
  const bool is_path = name_or_path.find('/') != std::string::npos || name_or_path.ends_with(".gguf");
  if (is_path && fs::is_directory(name_or_path, ignored)) {
    return fail(ErrorCode::unsupported, "{} is a folder, not a model file", shown);
  }
  if (is_path) return fail(ErrorCode::not_found, "there is no model file {}", shown);
  if (!name_or_path.empty()) {
    for (const std::string& dir : dirs) {
      const fs::path path = fs::path(dir) / (name_or_path + ".gguf");
      if (is_file(path)) return path.string();
    }
  }
  const std::string names = names_in(dirs);
  if (names.empty()) {
    return fail(ErrorCode::not_found, "there is no model '{}': no model is installed in {}", shown, fmt::join(dirs, ", "));
  }
  return fail(ErrorCode::not_found, "there is no model '{}'; installed are: {}", shown, names);
}

std::vector<std::string> default_model_dirs(const std::string& executable_path) {
  std::vector<std::string> dirs;
  std::string_view chosen = environment("CONTINUO_MODELS");
  while (!chosen.empty()) {
    const std::size_t end = chosen.find(':');
    add_dir(dirs, fs::path(chosen.substr(0, end)));
    chosen.remove_prefix(end == std::string_view::npos ? chosen.size() : end + 1);
  }
  const std::string_view data = environment("XDG_DATA_HOME");
  const std::string_view home = environment("HOME");
  if (data.starts_with('/'))
    add_dir(dirs, fs::path(data) / "continuo" / "models");  // the standard ignores relative ones
  else if (!home.empty())
    add_dir(dirs, fs::path(home) / ".local" / "share" / "continuo" / "models");
  if (!executable_path.empty()) {
    const fs::path folder = fs::path(executable_path).parent_path();
    add_dir(dirs, folder / ".." / "models");
    add_dir(dirs, folder / "models");
    add_dir(dirs, folder / ".." / "share" / "continuo" / "models");  // where `cmake --install` puts the demo model
  }
  return dirs;
}

}  // namespace continuo::weights
