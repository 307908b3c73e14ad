#include "server/routes/socket_link.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace continuo::server {

namespace {

// A client that sends more than this without being heard does not mean well.
constexpr std::size_t most_messages = 256;
constexpr auto first_message_within = std::chrono::seconds(10);

}  // namespace

SocketLink::SocketLink(std::unique_ptr<WebSocket> socket, Channel channel, RequestContext context, const SceneTable& scenes,
                       const boost::asio::any_io_executor& io)
    : socket_(std::move(socket)), channel_(channel), context_(std::move(context)), scenes_(scenes), io_(io), wake_(io) {}

void SocketLink::start() {
  const auto keep = shared_from_this();
  auto body = [](std::shared_ptr<SocketLink> self) -> Task<void> { co_await self->read_all(); };
  boost::asio::co_spawn(io_, body(keep), boost::asio::detached);
}

Task<void> SocketLink::read_all() {
  for (;;) {
    auto message = co_await socket_->read();
    if (!message) break;
    if (message->binary) {
      inbox_.emplace_back(ApiError{400, "binary messages go from the server to the client only", {}, "binary_message"});
    } else {
      auto control = parse_control(message->bytes, channel_, context_, scenes_);
      if (control) {
        inbox_.emplace_back(std::move(*control));
      } else {
        inbox_.emplace_back(std::move(control.error()));
      }
    }
    if (inbox_.size() > most_messages) {
      cut();
      break;
    }
    wake_.set();
  }
  gone_ = true;
  wake_.set();
}

std::optional<SocketLink::Message> SocketLink::take() {
  std::optional<Message> message;
  if (!inbox_.empty()) {
    message = std::move(inbox_.front());
    inbox_.pop_front();
  }
  return message;
}

Task<std::optional<SocketLink::Message>> SocketLink::next(std::chrono::steady_clock::duration at_most) {
  const auto until = std::chrono::steady_clock::now() + at_most;
  while (inbox_.empty() && !gone_ && std::chrono::steady_clock::now() < until) {
    co_await wake_.wait(until - std::chrono::steady_clock::now());
  }
  co_return take();
}

Task<std::variant<StartMessage, ResumeMessage, ApiError>> SocketLink::first() {
  auto message = co_await next(first_message_within);
  if (!message) co_return ApiError{408, "the first message, start or resume, did not come in time", {}, "timeout"};
  if (auto* refused = std::get_if<ApiError>(&*message)) co_return std::move(*refused);
  auto& control = std::get<ControlMessage>(*message);
  if (auto* start = std::get_if<StartMessage>(&control)) co_return std::move(*start);
  if (auto* resume = std::get_if<ResumeMessage>(&control)) co_return std::move(*resume);
  co_return ApiError{400, "the first message must be start or resume", "type", "out_of_order"};
}

Task<bool> SocketLink::say(std::string text) {
  if (gone_) co_return false;
  co_return co_await socket_->write(std::move(text), false);
}

Task<bool> SocketLink::send(std::string bytes) {
  if (gone_) co_return false;
  co_return co_await socket_->write(std::move(bytes), true);
}

Task<void> SocketLink::fail(ApiError error) {
  std::string text = error_message(error);
  const bool said = co_await say(std::move(text));
  if (!said) co_return;
  // 1011: our fault, 1013: later, 1008: against the rules of this protocol.
  const int code = error.status == 429 || error.status == 503 ? 1013 : error.status >= 500 ? 1011 : 1008;
  std::string reason = error.code.empty() ? std::string("error") : error.code;
  co_await close(code, std::move(reason));
}

Task<void> SocketLink::close(int code, std::string reason) {
  if (!gone_) co_await socket_->close(code, std::move(reason));
}

void SocketLink::cut() { socket_->cut(); }

}  // namespace continuo::server
