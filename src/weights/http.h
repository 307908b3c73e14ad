// One HTTP exchange at a time, by libcurl, with TLS verified.
//
// Redirects are followed here and not by libcurl, for one rule: the token goes to the hub's own origin (scheme, host and port)
// and to nobody else, whatever a redirect says. A redirect from https to http is refused. Error texts never hold a token, a
// query (a content network's addresses are signed there) or anything else the server wrote.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

namespace continuo::weights {

struct HttpOptions {
  std::string user_agent;
  std::string token;               // empty: none is sent
  std::string token_origin;        // origin_of() the only place that gets it
  std::chrono::seconds stall{30};  // a connection this silent is given up
  std::function<bool()> cancelled;
};

struct HttpRequest {
  std::string url;
  bool head = false;         // headers only, and the first answer of a redirect to another host is the last
  std::uint64_t offset = 0;  // bytes that are there already: asks for the rest
};

struct HttpReply {
  long status = 0;                             // of the last response; 0 when there was none
  std::map<std::string, std::string> headers;  // of that response, names in lower case
  std::uint64_t body_bytes = 0;                // handed to the sink
  std::chrono::seconds retry_after{0};         // what the server asks for
  std::string failure;                         // why the exchange broke off and may be tried again; empty: it is whole

  /// Empty if there is no such header.
  std::string header(const std::string& name) const;
};

/// Gets the body of a 2xx response piece by piece; the reply holds status and headers by then. An error ends the exchange.
using BodySink = std::function<Status(const HttpReply& reply, std::span<const std::byte> bytes)>;

class Http {
 public:
  static Result<Http> open(HttpOptions options);
  Http(Http&& other) noexcept;
  Http& operator=(Http&& other) noexcept;
  ~Http();

  /// Errors are what another try cannot mend: a certificate that is not trusted, a redirect loop, the sink's own, cancelled.
  Result<HttpReply> exchange(const HttpRequest& request, const BodySink& sink = {});

 private:
  struct State;
  explicit Http(std::unique_ptr<State> state);
  Status exchange_once(const std::string& url, const HttpRequest& request, const BodySink& sink, HttpReply& reply,
                       std::string& redirect);
  std::unique_ptr<State> state_;
};

/// "https://host:443"; empty for what is not an http or https address.
std::string origin_of(const std::string& url);

/// A word as part of an address: all but letters, digits and "-._~" become %XX.
std::string url_quoted(std::string_view word);

}  // namespace continuo::weights
