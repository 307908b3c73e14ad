#include "server/hosts.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <charconv>

namespace continuo::server {

namespace {

constexpr std::size_t most_name_bytes = 253;  // of DNS
constexpr std::size_t most_asked_headers = 1024;

std::string lower(std::string_view text) {
  std::string result(text);
  for (char& c : result) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return result;
}

bool letter_or_digit(char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'); }

std::optional<int> parse_port(std::string_view text) {
  int port = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && text.front() != '-' && port <= 65535 ? std::optional(port) : std::nullopt;
}

/// The usual spelling of an address of that family, an IPv4 address in IPv6's form as IPv4; empty if it is none.
std::string usual_address(int family, const std::string& text) {
  std::array<unsigned char, sizeof(in6_addr)> bytes{};
  std::array<char, INET6_ADDRSTRLEN> usual{};
  if (inet_pton(family, text.c_str(), bytes.data()) != 1) return "";
  constexpr std::array<unsigned char, 12> mapped{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF};
  const bool short_form = family == AF_INET6 && std::equal(mapped.begin(), mapped.end(), bytes.begin());
  inet_ntop(short_form ? AF_INET : family, bytes.data() + (short_form ? mapped.size() : 0), usual.data(), usual.size());
  return usual.data();
}

/// As parse_host, and an IPv6 address without brackets, as options and sockets have it.
std::optional<HostName> parse_bare(std::string_view text) {
  if (std::string address = usual_address(AF_INET6, std::string(text)); !address.empty()) {
    return HostName{std::move(address), true, std::nullopt};
  }
  return parse_host(text);
}

/// scheme://host[:port], lower case, without the scheme's usual port; empty if it is none.
std::string parse_origin(std::string_view text) {
  const std::string origin = lower(text);
  const std::size_t colon = origin.find("://");
  if (colon == std::string::npos || colon == 0 || !(origin[0] >= 'a' && origin[0] <= 'z')) return "";
  const std::string scheme = origin.substr(0, colon);
  const bool plain =
      std::all_of(scheme.begin(), scheme.end(), [](char c) { return letter_or_digit(c) || c == '+' || c == '-' || c == '.'; });
  const auto host = parse_host(std::string_view(origin).substr(colon + 3));
  if (!plain || !host) return "";
  const int usual = scheme == "http" ? 80 : scheme == "https" ? 443 : -1;
  const bool v6 = host->text.find(':') != std::string::npos;
  std::string result = fmt::format("{}://{}{}{}", scheme, v6 ? "[" : "", host->text, v6 ? "]" : "");
  if (host->port && *host->port != usual) result += fmt::format(":{}", *host->port);
  return result;
}

std::string_view header_of(const HttpRequest& request, std::string_view name) {
  const auto found = request.headers.find(name);
  return found == request.headers.end() ? std::string_view() : std::string_view(found->second);
}

bool is_token_list(std::string_view text) {
  return !text.empty() && text.size() <= most_asked_headers && std::all_of(text.begin(), text.end(), [](char c) {
    return letter_or_digit(c) || (c >= 'A' && c <= 'Z') || c == '-' || c == '_' || c == ',' || c == ' ';
  });
}

}  // namespace

std::optional<HostName> parse_host(std::string_view text) {
  HostName host;
  if (text.starts_with('[')) {
    const std::size_t end = text.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    host.text = usual_address(AF_INET6, std::string(text.substr(1, end - 1)));
    host.address = true;
    text.remove_prefix(end + 1);
    if (host.text.empty() || (!text.empty() && !text.starts_with(':'))) return std::nullopt;
  } else {
    const std::size_t end = std::min(text.find(':'), text.size());
    std::string name = lower(text.substr(0, end));
    text.remove_prefix(end);
    if (name.ends_with('.')) name.pop_back();
    const bool plain =
        !name.empty() && name.size() <= most_name_bytes && name.front() != '.' && name.front() != '-' &&
        name.find("..") == std::string::npos &&
        std::all_of(name.begin(), name.end(), [](char c) { return letter_or_digit(c) || c == '-' || c == '.' || c == '_'; });
    if (!plain) return std::nullopt;
    const std::string address = usual_address(AF_INET, name);
    host.address = !address.empty();
    host.text = std::move(name);
  }
  if (text.empty()) return host;
  text.remove_prefix(1);
  if (text.empty()) return host;  // "host:" is allowed by RFC 3986
  host.port = parse_port(text);
  return host.port ? std::optional(host) : std::nullopt;
}

bool is_loopback(std::string_view host) {
  const auto parsed = parse_bare(host);
  if (!parsed) return false;
  if (parsed->address)
    return parsed->text == "::1" || (parsed->text.starts_with("127.") && parsed->text.find(':') == std::string::npos);
  return parsed->text == "localhost" || parsed->text.ends_with(".localhost");
}

Result<Hosts> Hosts::create(const std::string& bound, const std::vector<std::string>& names,
                            const std::vector<std::string>& origins) {
  Hosts hosts;
  const auto listens = parse_bare(bound);
  if (!listens || listens->port)
    return fail(ErrorCode::invalid_argument, "a server listens on an address or a name without a port, not on '{}'", bound);
  hosts.any_address_ = listens->text == "0.0.0.0" || listens->text == "::";
  if (!hosts.any_address_) hosts.names_.insert(listens->text);
  for (const std::string& name : names) {
    const auto parsed = parse_bare(name);
    if (!parsed || parsed->port) {
      return fail(ErrorCode::invalid_argument, "'{}' is not a host name such as music.example.org, without scheme and port",
                  name);
    }
    hosts.names_.insert(parsed->text);
  }
  for (const std::string& origin : origins) {
    std::string parsed = parse_origin(origin.ends_with('/') ? origin.substr(0, origin.size() - 1) : origin);
    if (parsed.empty()) {
      return fail(ErrorCode::invalid_argument,
                  "'{}' is not an origin such as https://music.example.org; list each one, there is no sign for all", origin);
    }
    hosts.origins_.insert(std::move(parsed));
  }
  return hosts;
}

bool Hosts::knows(std::string_view host_header) const {
  const auto host = parse_host(host_header);
  if (!host) return false;
  if (host->address && any_address_) return true;
  if (names_.contains(host->text)) return true;
  return is_loopback(host->text);
}

Hosts::Origin Hosts::origin_of(std::string_view origin_header, std::string_view host_header) const {
  if (origin_header.empty()) return Origin::none;
  const std::string origin = parse_origin(origin_header);
  if (origin.empty()) return Origin::foreign;  // "null" too: a page out of a file or a sandbox
  // A proxy in front may speak TLS to the browser, so either scheme is this server's.
  for (const char* scheme : {"http://", "https://"}) {
    if (origin == parse_origin(scheme + std::string(host_header))) return Origin::same;
  }
  return origins_.contains(origin) ? Origin::listed : Origin::foreign;
}

Headers Hosts::cors_headers(const HttpRequest& request) const {
  if (origins_.empty()) return {};
  Headers headers{{"Vary", "Origin"}};
  const std::string_view origin = header_of(request, "origin");
  if (origin_of(origin, header_of(request, "host")) != Origin::listed) return headers;
  headers.emplace_back("Access-Control-Allow-Origin", std::string(origin));
  headers.emplace_back("Access-Control-Expose-Headers", "*");
  return headers;
}

std::optional<HttpResponse> Hosts::preflight(const HttpRequest& request) const {
  if (request.method != "OPTIONS" || header_of(request, "access-control-request-method").empty()) return std::nullopt;
  const Origin origin = origin_of(header_of(request, "origin"), header_of(request, "host"));
  if (origin != Origin::listed && origin != Origin::same) return std::nullopt;
  HttpResponse answer;
  answer.status = 204;
  if (origin == Origin::same) return answer;
  answer.headers = {{"Access-Control-Allow-Methods", "GET, HEAD, POST, PUT, PATCH, DELETE"}, {"Access-Control-Max-Age", "600"}};
  // Whatever the page wants to send: the operator trusts it, and clients have headers of their own.
  const std::string_view asked = header_of(request, "access-control-request-headers");
  if (is_token_list(asked)) answer.headers.emplace_back("Access-Control-Allow-Headers", std::string(asked));
  if (header_of(request, "access-control-request-private-network") == "true")
    answer.headers.emplace_back("Access-Control-Allow-Private-Network", "true");
  return answer;
}

}  // namespace continuo::server
