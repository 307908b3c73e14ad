// The WebSocket /v1/stream: a piece whose sound comes in binary messages while it is made, with acknowledgements that hold it
// back and a token to go on with after a broken connection (docs/http.md).
#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/http/router.h"
#include "server/parts.h"
#include "server/routes/socket_link.h"

namespace continuo::server {

class StreamRoutes {
 public:
  explicit StreamRoutes(const Parts& parts) : parts_(parts) {}
  void add_to(Router& router);

 private:
  struct Piece;
  Task<void> stream(Exchange& exchange);
  /// The first message, as a piece: a new one, or one whose connection broke.
  Task<std::shared_ptr<Piece>> begin(SocketLink& link, const HttpRequest& request);
  Task<std::shared_ptr<Piece>> submit(SocketLink& link, StartMessage message);
  Task<void> play(std::shared_ptr<SocketLink> link, std::shared_ptr<Piece> piece);
  /// False: the client is done with it.
  Task<bool> hear(SocketLink& link, Piece& piece, bool& paused);
  /// Lets a piece go that nobody listens to, unless somebody comes back for it in time.
  void leave(std::shared_ptr<Piece> piece, std::int64_t turn);

  const Parts& parts_;
  std::map<std::string, std::shared_ptr<Piece>> pieces_;  // by token
};

}  // namespace continuo::server
