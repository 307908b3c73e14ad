// Beast: reading requests from sockets and answering them.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/ip/tcp.hpp>
#include <map>
#include <memory>
#include <set>
#include <string>

#include "server/http/gate.h"
#include "server/options.h"

namespace continuo::server {

struct Session;

/// What all connections of a server share.
struct ConnectionContext {
  Gate* gate = nullptr;
  Limits limits;
  std::string server_name;
  std::set<Session*> sessions;
  std::map<std::string, int> clients;  // connections of each address
  std::int64_t body_bytes = 0;         // announced or read, of requests that are under way
  bool stopping = false;               // answers end their connections

  int open() const { return static_cast<int>(sessions.size()); }
  /// Those that wait for their next request.
  void close_idle();
  /// Every one, whatever it is doing; handlers see that their clients are gone.
  void close_all();
};

/// Most that the bodies of all requests under way may take together.
inline constexpr std::int64_t max_bodies_bytes = std::int64_t{256} << 20;

/// Answers what comes over a socket until either side ends it.
Task<void> serve_connection(boost::asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context);

}  // namespace continuo::server
