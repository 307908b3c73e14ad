// The WebSocket /v1/live: an endless piece whose prompt, guidance, temperature or scene change while it plays (docs/http.md); and
// GET /v1/scenes, the table that turns scenes into prompts.
//
// A listener that does not take its sound (nothing acknowledged, or nothing read) pauses its own piece: the engine makes a little
// ahead and waits. So does a connection that broke, until its client comes back or the time for that is over.
#pragma once

#include <map>
#include <memory>
#include <string>

#include "server/http/router.h"
#include "server/parts.h"
#include "server/routes/socket_link.h"

namespace continuo::server {

class LiveRoutes {
 public:
  explicit LiveRoutes(const Parts& parts) : parts_(parts) {}
  void add_to(Router& router);

  /// Ends all pieces with an error that says so.
  void stop();
  int playing() const { return static_cast<int>(pieces_.size()); }

 private:
  struct Piece;
  Task<void> live(Exchange& exchange);
  Task<void> scenes(Exchange& exchange);
  Task<std::shared_ptr<Piece>> begin(SocketLink& link, const HttpRequest& request);
  Parsed<std::shared_ptr<Piece>> submit(StartMessage message);
  Task<void> play(std::shared_ptr<SocketLink> link, std::shared_ptr<Piece> piece);
  Task<void> hear(SocketLink& link, Piece& piece);
  void leave(std::shared_ptr<Piece> piece, std::int64_t turn);
  std::string ready(const Piece& piece) const;

  const Parts& parts_;
  std::map<std::string, std::shared_ptr<Piece>> pieces_;  // by token
};

}  // namespace continuo::server
