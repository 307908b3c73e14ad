// The flags that configure a machine, from wherever they are set: the command line wins over the environment (CONTINUO_THREADS
// ...), and that over the configuration file ($XDG_CONFIG_HOME/continuo/config.toml, else ~/.config/continuo/config.toml). A file
// that is not TOML, or that has a key nobody knows, is an error that names the line: a typing mistake is never ignored.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace continuo::cli {

/// A value as text, and where it came from, for messages: "--threads", "CONTINUO_THREADS", "config.toml, line 3".
struct Setting {
  std::string value;
  std::string origin;
};

/// What a setting may be in the configuration file, where values have types: a string or a whole number, whatever its kind; a
/// number also with a fraction, a flag also true or false, a list also ["a", "b"].
enum class SettingKind { text, number, flag, list };

class Settings {
 public:
  using Environment = std::function<const char*(const char* name)>;

  /// Reads the environment and the configuration file; a file that does not exist sets nothing.
  static Result<Settings> load(const Environment& environment);

  /// name: threads, memory, models, kv, cache, and the options of the server (cli/serve_options.h) with '_' for '-'.
  std::optional<Setting> find(std::string_view name) const;

 private:
  std::map<std::string, Setting, std::less<>> values_;
};

/// Where the configuration file would lie; empty if neither XDG_CONFIG_HOME nor HOME says.
std::string config_path(const Settings::Environment& environment);

}  // namespace continuo::cli
