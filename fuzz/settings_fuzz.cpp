// The configuration file. Its path is fixed below a folder, so the input goes into a real file in a temporary one.
#include <filesystem>
#include <fstream>

#include "cli/settings.h"
#include "fuzz/fuzz_support.h"

namespace {

/// A folder for the life of the process.
struct Folder {
  std::string path = std::filesystem::temp_directory_path() / "continuo-fuzz-XXXXXX";
  Folder() {
    FUZZ_DEMAND(::mkdtemp(path.data()) != nullptr);
    std::filesystem::create_directory(path + "/continuo");
  }
  ~Folder() { std::filesystem::remove_all(path); }
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  static const Folder folder;
  std::ofstream(folder.path + "/continuo/config.toml", std::ios::binary) << fuzz::as_text(data, size);
  const auto settings = cli::Settings::load(
      [](const char* name) { return std::string_view(name) == "XDG_CONFIG_HOME" ? folder.path.c_str() : nullptr; });
  if (!settings) {
    fuzz::check_refusal(settings.error());
    return 0;
  }
  for (const char* name : {"threads", "memory", "models", "host", "port", "api_key_file"}) {
    if (const auto setting = settings->find(name)) FUZZ_DEMAND(setting->origin.starts_with(folder.path));
  }
  return 0;
}
