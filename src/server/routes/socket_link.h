// The reading half of a WebSocket whose handler writes: messages of the client wait here, parsed, until the handler takes them.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <variant>

#include "server/parts.h"
#include "server/requests/websocket_control.h"

namespace continuo::server {

class SocketLink : public std::enable_shared_from_this<SocketLink> {
 public:
  using Message = std::variant<ControlMessage, ApiError>;

  SocketLink(std::unique_ptr<WebSocket> socket, Channel channel, RequestContext context, const SceneTable& scenes,
             const boost::asio::any_io_executor& io);

  /// Reads until the client goes; on a coroutine of its own that keeps the link alive.
  void start();
  /// The next message of the client; waits at most so long for it.
  Task<std::optional<Message>> next(std::chrono::steady_clock::duration at_most);
  std::optional<Message> take();
  /// What a connection begins with: start or resume, or why it is neither.
  Task<std::variant<StartMessage, ResumeMessage, ApiError>> first();
  bool gone() const { return gone_; }
  /// Set by messages and when the client goes; sources of the handler's own may be added to it.
  Wake& wake() { return wake_; }

  Task<bool> say(std::string text);
  Task<bool> send(std::string bytes);
  /// An error message, then the close that belongs to it.
  Task<void> fail(ApiError error);
  Task<void> close(int code, std::string reason);
  void cut();

 private:
  Task<void> read_all();

  std::unique_ptr<WebSocket> socket_;
  Channel channel_;
  RequestContext context_;
  const SceneTable& scenes_;
  boost::asio::any_io_executor io_;
  Wake wake_;
  std::deque<Message> inbox_;
  bool gone_ = false;
};

}  // namespace continuo::server
