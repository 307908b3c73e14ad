#include "base/file.h"
#include "weights/hub.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr const char* usual_endpoint = "https://huggingface.co";
constexpr std::size_t token_bytes_max = 4096;

std::string value_of(const Environment& environment, const char* name) {
  const char* value = environment(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::string stripped(std::string text) {
  constexpr const char* blanks = " \t\r\n";
  text.erase(0, std::min(text.find_first_not_of(blanks), text.size()));
  text.erase(text.find_last_not_of(blanks) + 1);
  return text;
}

std::string token_path(const Environment& environment) {
  if (auto path = value_of(environment, "HF_TOKEN_PATH"); !path.empty()) return path;
  if (const auto home = value_of(environment, "HF_HOME"); !home.empty()) return home + "/token";
  if (const auto cache = value_of(environment, "XDG_CACHE_HOME"); !cache.empty()) return cache + "/huggingface/token";
  const auto home = value_of(environment, "HOME");
  return home.empty() ? std::string() : home + "/.cache/huggingface/token";
}

/// A line end inside would write headers of its own. The message must not show the value.
Status check_token(const std::string& token, const std::string& origin) {
  const bool plain = std::all_of(token.begin(), token.end(), [](char c) { return c > 0x20 && c < 0x7F; });
  if (plain && token.size() <= token_bytes_max) return {};
  return fail(ErrorCode::invalid_argument, "{} does not hold a token: a token is one word of plain letters and digits", origin);
}

Result<std::string> find_token(const Environment& environment) {
  std::string token = stripped(value_of(environment, "HF_TOKEN"));
  if (!token.empty()) {
    CONTINUO_CHECK(check_token(token, "HF_TOKEN"));
    return token;
  }
  const std::string path = token_path(environment);
  const auto text = path.empty() ? Result<std::string>() : read_text_file(path, token_bytes_max);
  if (!text && text.error().code == ErrorCode::not_found) return std::string();
  if (!text) return forward_error(text.error());
  token = stripped(*text);
  CONTINUO_CHECK(check_token(token, path));
  return token;
}

bool on_this_machine(const std::string& origin) {
  for (const char* start : {"http://127.0.0.1:", "http://localhost:", "http://[::1]:"}) {
    if (origin.starts_with(start)) return true;
  }
  return false;
}

}  // namespace

Result<HubSettings> hub_settings(const Environment& environment) {
  HubSettings settings;
  settings.endpoint = stripped(value_of(environment, "HF_ENDPOINT"));
  if (settings.endpoint.empty()) settings.endpoint = usual_endpoint;
  while (settings.endpoint.ends_with('/')) settings.endpoint.pop_back();
  const std::string origin = origin_of(settings.endpoint);
  const bool plain = settings.endpoint.find_first_of("@?#") == std::string::npos && single_line(settings.endpoint);
  if (origin.empty() || !plain) {
    return fail(ErrorCode::invalid_argument, "HF_ENDPOINT must be an address like {}", usual_endpoint);
  }
  if (origin.starts_with("https:") || on_this_machine(origin)) {
    CONTINUO_TRY(settings.token, find_token(environment));
  }
  return settings;
}

}  // namespace continuo::weights
