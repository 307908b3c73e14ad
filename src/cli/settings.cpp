#include "cli/settings.h"

#include <toml++/toml.h>

#include <algorithm>
#include <array>

#include "base/file.h"
#include "cli/serve_options.h"
#include "weights/text_check.h"

namespace continuo::cli {

namespace {

constexpr std::size_t max_config_bytes = 16'384;  // toml++ recurses once for each dot of "a.a.a.a = 1"

/// Every setting and its kind.
std::map<std::string, SettingKind, std::less<>> known_settings() {
  std::map<std::string, SettingKind, std::less<>> known;
  for (const char* name : {"threads", "memory", "models", "kv", "cache"}) known[name] = SettingKind::text;
  for (const ServeOption& option : serve_options()) {
    std::string name(option.name);
    std::replace(name.begin(), name.end(), '-', '_');
    known[name] = kind_of(option);
  }
  return known;
}

std::string environment_name(std::string_view name) {
  std::string upper = "CONTINUO_";
  for (const char letter : name) upper += letter == '_' ? '_' : static_cast<char>(letter - 'a' + 'A');
  return upper;
}

std::optional<std::string> list_from(const toml::array& array) {
  std::string list;
  for (const toml::node& node : array) {
    const auto* text = node.as_string();
    if (text == nullptr) return std::nullopt;
    list += (list.empty() ? "" : ",") + text->get();
  }
  return list;
}

Result<Setting> setting_from(const toml::node& node, std::string_view key, SettingKind kind, const std::string& origin) {
  if (const auto* text = node.as_string()) return Setting{text->get(), origin};
  if (const auto* number = node.as_integer()) return Setting{std::to_string(number->get()), origin};
  if (const auto* number = node.as_floating_point(); number != nullptr && kind == SettingKind::number)
    return Setting{fmt::format("{}", number->get()), origin};
  if (const auto* yes = node.as_boolean(); yes != nullptr && kind == SettingKind::flag)
    return Setting{yes->get() ? "true" : "false", origin};
  if (const auto* array = node.as_array(); array != nullptr && kind == SettingKind::list) {
    if (auto list = list_from(*array)) return Setting{std::move(*list), origin};
  }
  constexpr std::array<std::string_view, 4> kinds{"a string or a whole number", "a number", "true or false",
                                                  "a string or a list of strings"};
  return fail(ErrorCode::corrupt_file, "{}: {} must be {}", origin, key, kinds[static_cast<std::size_t>(kind)]);
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
  const auto known = known_settings();
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
      const auto setting_kind = known.find(key.str());
      if (setting_kind == known.end()) {
        return fail(
            ErrorCode::corrupt_file,
            "{}: there is no setting '{}'; the settings are threads, memory, models, kv and the options of `continuo serve`, with _ for -",
            origin, weights::printable(key.str()));
      }
      CONTINUO_TRY(Setting setting, setting_from(node, key.str(), setting_kind->second, origin));
      settings.values_[std::string(key.str())] = std::move(setting);
    }
  }
  for (const auto& [name, kind] : known) {
    const std::string variable = environment_name(name);
    const char* value = environment(variable.c_str());
    if (value != nullptr && value[0] != '\0') settings.values_[name] = {value, variable};
  }
  return settings;
}

std::optional<Setting> Settings::find(std::string_view name) const {
  const auto found = values_.find(name);
  return found == values_.end() ? std::nullopt : std::optional(found->second);
}

}  // namespace continuo::cli
