#include <algorithm>
#include <cctype>
#include <charconv>

#include "server/requests/music_request.h"

namespace continuo::server {

namespace {

std::string lower(std::string_view text) {
  std::string result(text);
  std::transform(result.begin(), result.end(), result.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

struct Place {
  std::string host;  // lower case, an IPv6 address in brackets
  int port = 0;      // 0: not said
};

std::optional<Place> place_of(std::string_view authority) {
  Place place;
  std::size_t end = 0;
  if (authority.starts_with('[')) {
    end = authority.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const auto address = authority.substr(1, end - 1);
    const auto part = [](unsigned char c) { return std::isxdigit(c) != 0 || c == ':' || c == '.'; };
    if (address.empty() || !std::all_of(address.begin(), address.end(), part)) return std::nullopt;
    ++end;
  } else {
    end = std::min(authority.find(':'), authority.size());
    const auto letter = [](unsigned char c) { return std::isalnum(c) != 0 || c == '.' || c == '-'; };
    if (end == 0 || !std::all_of(authority.begin(), authority.begin() + static_cast<std::ptrdiff_t>(end), letter))
      return std::nullopt;
  }
  place.host = lower(authority.substr(0, end));
  std::string_view rest = authority.substr(end);
  if (rest.empty()) return place;
  rest.remove_prefix(1);
  const auto [last, problem] = std::from_chars(rest.data(), rest.data() + rest.size(), place.port);
  if (authority[end] != ':' || problem != std::errc() || last != rest.data() + rest.size() || place.port < 1 ||
      place.port > 65'535)
    return std::nullopt;
  return place;
}

}  // namespace

Parsed<void> check_webhook(const std::string& url, const std::vector<std::string>& hosts) {
  const auto bad = [](const char* why) { return refuse(422, "invalid_value", "webhook", fmt::format("webhook {}", why)); };
  const bool secure = url.starts_with("https://");
  if (!secure && !url.starts_with("http://")) return bad("must begin with https:// or http://");
  const auto plain = [](unsigned char c) {
    return c > 0x20 && c < 0x7F && std::string_view("\"<>\\^`{|}#").find(char(c)) == std::string_view::npos;
  };
  if (!std::all_of(url.begin(), url.end(), plain)) return bad("holds a character that a URL cannot have, or a fragment");
  const std::string_view rest = std::string_view(url).substr(secure ? 8 : 7);
  const auto place = place_of(rest.substr(0, rest.find_first_of("/?")));
  if (!place) return bad("must name a host, and nothing but a port beside it");
  const int standard = secure ? 443 : 80;
  const int port = place->port == 0 ? standard : place->port;
  for (const std::string& entry : hosts) {
    const auto allowed = place_of(entry);
    if (!allowed || allowed->host != place->host) continue;
    if (port == (allowed->port == 0 ? standard : allowed->port)) return {};
  }
  return refuse(
      422, "webhook_not_allowed", "webhook",
      fmt::format("the host {} of the webhook is not one that this server may call; its operator lists them", place->host));
}

}  // namespace continuo::server
