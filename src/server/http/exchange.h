// One HTTP request and the way to answer it, as the routes see it. Only connection.cpp knows Beast behind it.
//
// Everything here runs on the server's one I/O thread: handlers are coroutines on it and may touch the server's state without
// locks, and must never compute, encode, or wait for a disk or a database there (server/pool.h does that elsewhere).
//
// An answer is whole (send) or streamed (begin, write, end). A streamed answer that cannot be completed is cut off (abort): the
// client sees a broken body, never a clean end. A handler that throws or returns without an answer gets a 500, or the cut if the
// head has gone out.
#pragma once

#include <utility>  // before Asio, which forgets it

#include <boost/asio/awaitable.hpp>
#include <chrono>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace continuo::server {

template <class T = void>
using Task = boost::asio::awaitable<T>;

/// In the order given; names in any case, compared without it.
using Headers = std::vector<std::pair<std::string, std::string>>;

struct HttpRequest {
  std::string method;                                        // "GET"
  std::string path;                                          // decoded, without the query: "/v1/jobs/ab12/audio.wav"
  std::map<std::string, std::string, std::less<>> query;     // decoded; the last one of a name counts
  std::map<std::string, std::string, std::less<>> captures;  // what the route's {names} stand for
  std::map<std::string, std::string, std::less<>> headers;   // names in lower case; repeated ones joined by ", "
  std::string body;                                          // whole, at most the route's limit
  std::string id;                                            // of this request, also in the log and in X-Request-Id
  std::string client;                                        // who asks: "key:NAME" or "ip:ADDRESS"; for limits and ownership

  /// Empty when absent.
  std::string_view header(std::string_view lower_case_name) const;
  std::optional<std::string> argument(std::string_view query_name) const;
};

struct HttpResponse {
  int status = 200;
  Headers headers;
  std::string body;
};

class Wake;

/// Messages both ways, once a request asked for an upgrade. Pings are answered and sent underneath.
class WebSocket {
 public:
  struct Message {
    bool binary = false;
    std::string bytes;
  };
  virtual ~WebSocket() = default;
  /// The next message; nothing when the peer closed, vanished, or broke the protocol or a limit. One reader at a time.
  virtual Task<std::optional<Message>> read() = 0;
  /// Returns when the message is handed to the system, so a peer that does not read holds up whoever writes. False: the peer is
  /// gone. One writer at a time.
  virtual Task<bool> write(std::string bytes, bool binary) = 0;
  /// With a code of RFC 6455 and a reason of at most 120 bytes.
  virtual Task<void> close(int code, std::string reason) = 0;
  /// Breaks the connection under the reader and the writer.
  virtual void cut() = 0;
};

class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual const HttpRequest& request() const = 0;

  /// The whole answer. Content-Length, Date, X-Request-Id and the security headers are added; so they are by begin().
  virtual Task<void> send(HttpResponse response) = 0;

  /// The head of a streamed answer. length: of the body, if it is known; else the body goes out in chunks. False: client gone.
  virtual Task<bool> begin(int status, Headers headers, std::optional<std::int64_t> length) = 0;
  /// Returns when the bytes are handed to the system: a client that reads slowly holds up its own handler only. False: the client
  /// is gone, or took nothing for the write timeout. Nothing is sent for a HEAD request.
  virtual Task<bool> write(std::string bytes) = 0;
  virtual Task<void> end() = 0;
  /// Breaks the connection.
  virtual void abort() = 0;
  virtual bool begun() const = 0;

  /// Whether the client hung up; `wake` is set when it does (until the wake goes, or the exchange ends).
  virtual bool gone() const = 0;
  virtual void watch(Wake& wake) = 0;

  /// Whether this asks to become a WebSocket.
  virtual bool wants_websocket() const = 0;
  /// Null: the handshake failed. protocol: a subprotocol to confirm, or empty.
  virtual Task<std::unique_ptr<WebSocket>> accept_websocket(std::string protocol) = 0;
};

}  // namespace continuo::server
