// A connection while it is served: its socket, and whether the client has hung up.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <functional>
#include <memory>
#include <string_view>

#include "server/http/connection.h"
#include "server/wake.h"

namespace continuo::server {

struct Session;

/// Cancels what waits on the session's socket when the time is over. (Beast's own timeouts close it, and then the client cannot
/// be told.)
class Deadline {
 public:
  Deadline(Session& session, double seconds);
  ~Deadline();
  Deadline(const Deadline&) = delete;
  Deadline& operator=(const Deadline&) = delete;
  bool over() const { return *over_; }

 private:
  boost::asio::steady_timer timer_;
  std::shared_ptr<bool> over_ = std::make_shared<bool>(false);
};

struct Session : std::enable_shared_from_this<Session> {
  Session(boost::asio::ip::tcp::socket connected, std::shared_ptr<ConnectionContext> shared);
  ~Session();

  /// Everything, in pieces that each may take as long as a client may take to accept anything. False: gone, or too slow.
  Task<bool> write_all(std::string_view bytes);
  /// From now on `gone` follows the client, and `hung_up` is set with it.
  void watch();
  void close(bool hard);
  /// After an answer that did not wait for all of the request: lets the client read it before the connection breaks.
  Task<void> linger();

  boost::asio::ip::tcp::socket socket;
  boost::beast::flat_buffer buffer;
  std::shared_ptr<ConnectionContext> context;
  Wakes hung_up;
  bool watching = false;
  bool gone = false;
  bool idle = false;      // waits for its next request
  bool upgraded = false;  // the socket belongs to a WebSocket
  std::function<void()> cut_upgraded = {};
};

}  // namespace continuo::server
