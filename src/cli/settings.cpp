#include "cli/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "weights/text_check.h"

namespace continuo::cli {

namespace {

constexpr std::array<std::string_view, 6> names{"threads", "memory", "models", "host", "port", "api_key_file"};
constexpr std::size_t max_config_bytes = 16'384;  // toml++ recurses once for each dot of "a.a.a.a = 1"

std::string environment_name(std::string_view name) {
  std::string upper = "CONTINUO_";
  for (const char letter : name) upper += letter == '_' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return upper;
}

Result<Setting> setting_from(const toml::node& node, std::string_view key, const std::string& origin) {
  if (const auto* text = node.as_string()) return Setting{text->get(), origin};
  if (const auto* number = node.as_integer()) return Setting{std::to_string(number->get()), origin};
  return fail(ErrorCode::corrupt_file, "{}: {} must be a string or a whole number", origin, key);
}

}  // namespace

std::string config_path(const Settings::Environment& environment) {
  const char* base = environment("XDG_CONFIG_HOME");
  if (base != nullptr && base[0] == '/')
    return std::string(base) + "/continuo/config.toml";  // the standard: relative ones do not count
  const char* home = environment("HOME");
  return home != nullptr && home[0] != '\0' ? std::string(home) + "/.config/continuo/config.toml" : "";
}

Result<Settings> Settings::load(const Environment& environment) {
  Settings settings;
  if (const std::string path = config_path(environment); !path.empty()) {
    const auto text = read_text_file(path, max_config_bytes);
    if (!text && text.error().code != ErrorCode::not_found) return forward_error(text.error());
    toml::table table;
    try {
      if (text) table = toml::parse(*text, path);
    } catch (const toml::parse_error& error) {
      return fail(ErrorCode::corrupt_file, "{}, line {}: {}", path, error.source().begin.line,
                  weights::printable(error.description(), 400));
    }
    for (const auto& [key, node] : table) {
      const std::string origin = fmt::format("{}, line {}", path, key.source().begin.line);
      if (std::find(names.begin(), names.end(), key.str()) == names.end()) {
        return fail(ErrorCode::corrupt_file, "{}: there is no setting '{}'; the settings are {}", origin,
                    weights::printable(key.str()), fmt::join(names, ", "));
      }
      CONTINUO_TRY(Setting setting, setting_from(node, key.str(), origin));
      settings.values_[std::string(key.str())] = std::move(setting);
    }
  }
  for (const std::string_view name : names) {
    const std::string variable = environment_name(name);
    const char* value = environment(variable.c_str());
    if (value != nullptr && value[0] != '\0') settings.values_[std::string(name)] = {value, variable};
  }
  return settings;
}

std::optional<Setting> Settings::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace continuo::cli
