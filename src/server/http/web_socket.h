// Beast's WebSocket behind ours.
#pragma once

#include <boost/beast/http/message.hpp>
#include <boost/beast/http/string_body.hpp>
#include <memory>
#include <string>

#include "server/http/exchange.h"
#include "server/http/session.h"

namespace continuo::server {

/// Takes the socket over from the session. Null: the handshake failed.
Task<std::unique_ptr<WebSocket>> accept_websocket(std::shared_ptr<Session> session,
                                                  const boost::beast::http::request<boost::beast::http::string_body>& request,
                                                  std::string protocol, Headers extra);

}  // namespace continuo::server
