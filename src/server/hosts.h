// Who may speak to this server by way of a browser. Two checks, of every request on every route:
//
// - Host: a web page can give its own name this machine's address and then read answers as if they were its own (DNS rebinding).
//   Its requests still say that name, so only known ones are answered: loopback's, the address or name the server listens on,
//   and those that the operator lists; of a server that listens on all addresses, any plain address. Ports do not matter, because
//   they may be forwarded.
// - Origin: a page of another origin is refused unless the operator lists it. Pages that this server itself serves are always
//   welcome, and so is whoever is no browser and sends none. Listed ones get CORS headers; credentials are never allowed, since
//   no cookie means anything here.
#pragma once

#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "server/http/exchange.h"

namespace continuo::server {

/// A name or an address in one spelling, without a port: "Localhost." is "localhost", "[::0:1]" is "::1".
struct HostName {
  std::string text;
  bool address = false;
  std::optional<int> port;
};

/// "name", "name:8080", "10.0.0.1:80", "[::1]:80"; nothing if it is none of these.
std::optional<HostName> parse_host(std::string_view text);

/// Whether only this machine reaches it: localhost and its subdomains, 127.0.0.0/8, ::1. Also takes ::1 without brackets.
bool is_loopback(std::string_view host);

class Hosts {
 public:
  enum class Origin { none, same, listed, foreign };

  /// bound: what the server listens on. Errors: a name with a port or a scheme, an origin with a path, "*" or "null".
  static Result<Hosts> create(const std::string& bound, const std::vector<std::string>& names,
                              const std::vector<std::string>& origins);

  bool knows(std::string_view host_header) const;
  /// Also for WebSockets, which browsers open to everywhere: foreign ones are to be refused.
  Origin origin_of(std::string_view origin_header, std::string_view host_header) const;

  /// What every answer to this request carries besides: nothing, unless origins are listed.
  Headers cors_headers(const HttpRequest& request) const;
  /// The answer if this is a browser's question in advance, which comes without a key; ask after the two checks.
  std::optional<HttpResponse> preflight(const HttpRequest& request) const;

 private:
  std::set<std::string, std::less<>> names_;
  std::set<std::string, std::less<>> origins_;
  bool any_address_ = false;
};

}  // namespace continuo::server
