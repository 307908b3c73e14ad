#include "server/http/web_socket.h"

#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/websocket/stream.hpp>

namespace continuo::server {

namespace asio = boost::asio;
namespace beast = boost::beast;

namespace {

constexpr std::size_t most_message_bytes = std::size_t{64} << 10;

class BeastWebSocket final : public WebSocket {
 public:
  explicit BeastWebSocket(std::shared_ptr<Session> session) : session_(std::move(session)), stream_(std::move(session_->socket)) {
    session_->cut_upgraded = [this] { close_socket(); };
  }
  ~BeastWebSocket() override {
    session_->cut_upgraded = {};
    close_socket();
  }

  Task<bool> accept(const beast::http::request<beast::http::string_body>& request, const std::string& protocol,
                    const Headers& extra) {
    // A peer that answers no ping for a while is gone.
    beast::websocket::stream_base::timeout timeouts{};
    timeouts.handshake_timeout = std::chrono::seconds(10);
    timeouts.idle_timeout = std::chrono::seconds(30);
    timeouts.keep_alive_pings = true;
    stream_.set_option(timeouts);
    stream_.read_message_max(most_message_bytes);
    stream_.set_option(beast::websocket::stream_base::decorator([&](beast::websocket::response_type& response) {
      response.set(beast::http::field::server, session_->context->server_name);
      if (!protocol.empty()) response.set(beast::http::field::sec_websocket_protocol, protocol);
      for (const auto& [name, value] : extra) response.set(name, value);
    }));
    beast::error_code error;
    co_await stream_.async_accept(request, asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  Task<std::optional<Message>> read() override {
    beast::flat_buffer buffer(most_message_bytes);
    beast::error_code error;
    co_await stream_.async_read(buffer, asio::redirect_error(asio::use_awaitable, error));
    std::optional<Message> message;
    if (!error) {
      message.emplace();
      message->binary = stream_.got_binary();
      message->bytes = beast::buffers_to_string(buffer.data());
    }
    co_return message;
  }

  Task<bool> write(std::string bytes, bool binary) override {
    beast::error_code error;
    stream_.binary(binary);
    co_await stream_.async_write(asio::buffer(bytes), asio::redirect_error(asio::use_awaitable, error));
    co_return !error;
  }

  Task<void> close(int code, std::string reason) override {
    reason.resize(std::min<std::size_t>(reason.size(), 120));
    const beast::websocket::close_reason why(static_cast<beast::websocket::close_code>(code), {reason.data(), reason.size()});
    beast::error_code ignored;
    co_await stream_.async_close(why, asio::redirect_error(asio::use_awaitable, ignored));
  }

  void cut() override { close_socket(); }

 private:
  void close_socket() {
    boost::system::error_code ignored;
    stream_.next_layer().close(ignored);
  }

  std::shared_ptr<Session> session_;
  beast::websocket::stream<asio::ip::tcp::socket> stream_;
};

}  // namespace

Task<std::unique_ptr<WebSocket>> accept_websocket(std::shared_ptr<Session> session,
                                                  const beast::http::request<beast::http::string_body>& request,
                                                  std::string protocol, Headers extra) {
  session->upgraded = true;
  auto socket = std::make_unique<BeastWebSocket>(std::move(session));
  std::unique_ptr<WebSocket> result;
  if (co_await socket->accept(request, protocol, extra)) result = std::move(socket);
  co_return result;
}

}  // namespace continuo::server
