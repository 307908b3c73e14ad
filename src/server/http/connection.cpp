#include "server/http/connection.h"

#include <fmt/format.h>
#include <algorithm>
#include <array>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/error.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/read.hpp>
#include <boost/beast/http/string_body.hpp>
#include <boost/beast/websocket/rfc6455.hpp>
#include <limits>

#include "server/http/head.h"
#include "server/http/request_id.h"
#include "server/http/session.h"
#include "server/http/target.h"
#include "server/http/web_socket.h"

namespace continuo::server {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = boost::beast::http;

namespace {

using Clock = std::chrono::steady_clock;
using RawRequest = http::request<http::string_body>;

constexpr std::uint32_t most_head_bytes = 16U << 10U;
constexpr double slowest_upload = 64.0 * 1024;  // bytes a second, beyond the time that any body has

class HttpExchange final : public Exchange {
 public:
  HttpExchange(std::shared_ptr<Session> session, const RawRequest& raw, HttpRequest request, Headers extra)
      : session_(std::move(session)), raw_(raw), request_(std::move(request)), extra_(std::move(extra)) {
    keep_alive_ = raw.keep_alive();
    minor_version_ = raw.version() == 10 ? 0 : 1;
  }

  const HttpRequest& request() const override { return request_; }

  Task<void> send(HttpResponse response) override {
    if (begun_) co_return;
    const bool bodyless = response.status == 204 || response.status == 304;
    if (bodyless) response.body.clear();
    std::optional<std::int64_t> length = static_cast<std::int64_t>(response.body.size());
    if (response.status == 204) length.reset();
    std::string bytes = head(response.status, std::move(response.headers), length, bodyless);
    if (request_.method != "HEAD") bytes += response.body;
    co_await session_->write_all(bytes);
    if (!session_->gone) answered_.body_bytes = static_cast<std::int64_t>(response.body.size());
    ended_ = !session_->gone;
  }

  Task<bool> begin(int status, Headers headers, std::optional<std::int64_t> length) override {
    if (begun_) co_return false;
    const std::string bytes = head(status, std::move(headers), length, false);
    left_ = length;
    co_return co_await session_->write_all(bytes);
  }

  Task<bool> write(std::string bytes) override {
    if (request_.method == "HEAD" || bytes.empty()) co_return !session_->gone;
    if (ended_ || !begun_) co_return false;
    answered_.body_bytes += static_cast<std::int64_t>(bytes.size());
    if (left_) {
      // More than announced would be taken for the next answer.
      if (static_cast<std::int64_t>(bytes.size()) > *left_) {
        abort();
        co_return false;
      }
      *left_ -= static_cast<std::int64_t>(bytes.size());
    }
    if (chunked_) {
      bytes.insert(0, fmt::format("{:x}\r\n", bytes.size()));
      bytes += "\r\n";
    }
    co_return co_await session_->write_all(bytes);
  }

  Task<void> end() override {
    if (ended_ || !begun_) co_return;
    if (request_.method != "HEAD") {
      if (left_.value_or(0) != 0) {
        abort();
        co_return;
      }
      if (chunked_) {
        const std::string last = "0\r\n\r\n";
        co_await session_->write_all(last);
      }
    }
    // A client that has all that was announced may hang up without waiting for us.
    ended_ = !session_->gone || left_ == 0;
  }

  void abort() override {
    answered_.cut = true;
    // A body that ends with the connection would look whole if it ended in good order.
    session_->close(begun_ && !chunked_ && !left_);
    session_->gone = true;
    session_->hung_up.set_all();
  }

  bool begun() const override { return begun_; }
  bool gone() const override { return session_->gone; }
  void watch(Wake& wake) override {
    session_->hung_up.add(wake);
    if (session_->gone) wake.set();
  }

  bool wants_websocket() const override { return beast::websocket::is_upgrade(raw_); }
  Task<std::unique_ptr<WebSocket>> accept_websocket(std::string protocol) override {
    begun_ = ended_ = true;
    answered_.status = 101;
    keep_alive_ = false;
    co_return co_await server::accept_websocket(session_, raw_, std::move(protocol), extra_);
  }

  bool ended() const { return ended_; }
  bool keep_alive() const { return keep_alive_; }
  void end_connection() { keep_alive_ = false; }
  Answered answered() const {
    Answered result = answered_;
    result.seconds = std::chrono::duration<double>(Clock::now() - start_).count();
    result.cut = result.cut || !ended_;
    return result;
  }

 private:
  std::string head(int status, Headers headers, std::optional<std::int64_t> length, bool bodyless) {
    begun_ = true;
    answered_.status = status;
    if (session_->context->stopping) keep_alive_ = false;
    if (length && !bodyless) {
      headers.emplace_back("Content-Length", std::to_string(*length));
    } else if (!bodyless && status != 204) {
      chunked_ = minor_version_ == 1;
      if (chunked_) {
        headers.emplace_back("Transfer-Encoding", "chunked");
      } else {
        keep_alive_ = false;
      }
    }
    for (const auto& header : extra_) headers.push_back(header);
    headers.emplace_back("Date", http_date(std::chrono::system_clock::to_time_t(std::chrono::system_clock::now())));
    headers.emplace_back("Server", session_->context->server_name);
    headers.emplace_back("X-Request-Id", request_.id);
    headers.emplace_back("X-Content-Type-Options", "nosniff");
    if (!has_header(headers, "Cache-Control")) headers.emplace_back("Cache-Control", "no-store");
    headers.emplace_back("Connection", keep_alive_ ? "keep-alive" : "close");
    return response_head(minor_version_, status, headers);
  }

  std::shared_ptr<Session> session_;
  const RawRequest& raw_;
  HttpRequest request_;
  Headers extra_;
  Clock::time_point start_ = Clock::now();
  Answered answered_;
  std::optional<std::int64_t> left_;
  int minor_version_ = 1;
  bool keep_alive_ = true, begun_ = false, ended_ = false, chunked_ = false;
};

/// Counts the bytes of a body while its request is under way.
class BodyShare {
 public:
  explicit BodyShare(ConnectionContext& context) : context_(context) {}
  ~BodyShare() { context_.body_bytes -= bytes_; }
  BodyShare(const BodyShare&) = delete;
  BodyShare& operator=(const BodyShare&) = delete;
  bool take(std::int64_t bytes) {
    if (context_.body_bytes + bytes > max_bodies_bytes) return false;
    bytes_ += bytes;
    context_.body_bytes += bytes;
    return true;
  }

 private:
  ConnectionContext& context_;
  std::int64_t bytes_ = 0;
};

HttpRequest head_of(const RawRequest& raw, const std::string& address) {
  HttpRequest head;
  head.method = std::string(raw.method_string());
  for (const auto& field : raw) {
    const auto name = field.name_string();
    const auto value = field.value();
    std::string& text = head.headers[lower_case({name.data(), name.size()})];
    if (!text.empty()) text += ", ";
    text.append(value.data(), value.size());
  }
  head.id = request_id(head.header("x-request-id"));
  head.client = "ip:" + address;
  return head;
}

/// Whether what came is not HTTP, and not a connection that broke.
bool malformed(const beast::error_code& error) {
  return error.category() == http::make_error_code(http::error::bad_method).category() && error != http::error::end_of_stream &&
         error != http::error::partial_message;
}

/// Why the head of a request could not be read, as a status; 0: there is nobody to tell.
int status_of_head(const beast::error_code& error) {
  if (error == http::error::header_limit) return 431;
  return malformed(error) ? 400 : 0;
}

/// One request and its answer. False: the connection is done.
Task<bool> serve_request(const std::shared_ptr<Session>& session, const std::string& address, bool first) {
  ConnectionContext& context = *session->context;
  Gate& gate = *context.gate;
  auto parser = std::make_unique<http::request_parser<http::string_body>>();
  parser->header_limit(most_head_bytes);
  // "None" would refuse every length in this Beast.
  parser->body_limit(std::numeric_limits<std::uint64_t>::max());
  beast::error_code error;
  bool late = false;
  {
    const Deadline deadline(*session, first ? context.limits.header_seconds : context.limits.idle_seconds);
    session->idle = session->buffer.size() == 0;
    co_await http::async_read_header(session->socket, session->buffer, *parser, asio::redirect_error(asio::use_awaitable, error));
    session->idle = false;
    late = deadline.over();
  }
  if (error) {
    const bool anything = parser->got_some() || session->buffer.size() > 0;
    const int status = late ? (anything ? 408 : 0) : status_of_head(error);
    if (status == 0) co_return false;
    const RawRequest nothing;
    HttpRequest unread;
    unread.id = request_id({});
    unread.client = "ip:" + address;
    HttpExchange exchange(session, nothing, std::move(unread), {});
    exchange.end_connection();
    HttpResponse answer = gate.error(status, status == 408   ? "the head of the request did not arrive in time"
                                             : status == 431 ? "the head of the request is larger than 16 KiB"
                                                             : "this is not an HTTP/1.1 request");
    co_await exchange.send(std::move(answer));
    gate.note(exchange.request(), nullptr, exchange.answered());
    co_await session->linger();
    co_return false;
  }

  HttpRequest head = head_of(parser->get(), address);
  const auto target_text = parser->get().target();
  Admission admission;
  std::optional<Target> target = parse_target({target_text.data(), target_text.size()});
  if (target) {
    head.path = std::move(target->path);
    head.query = std::move(target->query);
    admission = gate.admit(head);
  } else {
    admission.refusal = gate.error(400, "the address of the request is not a path with correct percent-encoding");
  }

  BodyShare share(context);
  bool crowded = false;
  const auto announced = parser->content_length();
  const bool has_body = parser->chunked() || announced.value_or(0) > 0;
  if (admission.route != nullptr && has_body) {
    if (announced && *announced > static_cast<std::uint64_t>(admission.body_bytes)) {
      admission.refusal =
          gate.error(413, fmt::format("the body has {} bytes; at most {} are taken here", *announced, admission.body_bytes));
      admission.route = nullptr;
    }
  }
  if (admission.route != nullptr && has_body) {
    if (same_name(head.header("expect"), "100-continue")) {
      const std::string go_on = "HTTP/1.1 100 Continue\r\n\r\n";
      co_await session->write_all(go_on);
    }
    parser->body_limit(static_cast<std::uint64_t>(admission.body_bytes));
    {
      const Deadline deadline(*session,
                              context.limits.body_seconds + static_cast<double>(announced.value_or(0)) / slowest_upload);
      parser->eager(true);
      // Counted as it arrives: who announces much and sends nothing takes nothing from others.
      for (std::size_t counted = 0; !error && !parser->is_done() && !crowded;) {
        co_await http::async_read_some(session->socket, session->buffer, *parser,
                                       asio::redirect_error(asio::use_awaitable, error));
        const std::size_t arrived = parser->get().body().size();
        crowded = !share.take(static_cast<std::int64_t>(arrived - counted));
        counted = arrived;
      }
      late = deadline.over();
    }
    if (crowded) {
      admission.refusal = gate.error(503, "too many large requests are being received; try again in a moment");
      admission.refusal.headers.emplace_back("Retry-After", "5");
      admission.route = nullptr;
    } else if (error == http::error::body_limit) {
      admission.refusal = gate.error(413, fmt::format("the body is larger than {} bytes", admission.body_bytes));
      admission.route = nullptr;
    } else if (error && late) {
      admission.refusal = gate.error(408, "the body of the request did not arrive in time");
      admission.route = nullptr;
    } else if (malformed(error)) {
      admission.refusal = gate.error(400, "the body of the request is not in the form its head announces");
      admission.route = nullptr;
    } else if (error) {
      co_return false;  // hung up in the middle
    }
  }
  const bool read_all = !has_body || parser->is_done();
  RawRequest raw = parser->release();
  parser.reset();
  head.body = std::move(raw.body());

  HttpExchange exchange(session, raw, std::move(head), std::move(admission.extra));
  if (!read_all) exchange.end_connection();
  std::string failure;
  if (admission.route == nullptr) {
    co_await exchange.send(std::move(admission.refusal));
  } else {
    session->watch();
    try {
      co_await admission.route->handler(exchange);
    } catch (const std::exception& thrown) {
      failure = thrown.what();
    }
    if (!exchange.begun() && !session->gone) {
      HttpResponse answer = gate.error(500, "something went wrong inside the server; its log says more under this request's id");
      co_await exchange.send(std::move(answer));
    } else if (!exchange.ended()) {
      exchange.abort();
    }
  }
  Answered answered = exchange.answered();
  answered.failure = std::move(failure);
  gate.note(exchange.request(), admission.route, answered);
  if (!read_all && !session->gone) co_await session->linger();
  co_return exchange.keep_alive() && exchange.ended() && !session->gone && !context.stopping;
}

}  // namespace

namespace {

/// Counts a connection of an address while it lasts.
class ClientShare {
 public:
  ClientShare(ConnectionContext& context, const std::string& address) : context_(context), address_(address) {
    count_ = ++context_.clients[address_];
  }
  ~ClientShare() {
    const auto found = context_.clients.find(address_);
    if (--found->second == 0) context_.clients.erase(found);
  }
  ClientShare(const ClientShare&) = delete;
  ClientShare& operator=(const ClientShare&) = delete;
  int count() const { return count_; }

 private:
  ConnectionContext& context_;
  std::string address_;
  int count_ = 0;
};

/// The one answer of a connection that is one too many.
Task<void> turn_away(std::shared_ptr<Session> session, int status, std::string message) {
  HttpResponse answer = session->context->gate->error(status, message);
  answer.headers.emplace_back("Content-Length", std::to_string(answer.body.size()));
  answer.headers.emplace_back("Retry-After", "1");
  answer.headers.emplace_back("Connection", "close");
  const std::string bytes = response_head(1, answer.status, answer.headers) + answer.body;
  co_await session->write_all(bytes);
  co_await session->linger();
  session->close(false);
}

}  // namespace

Task<void> serve_connection(asio::ip::tcp::socket socket, std::shared_ptr<ConnectionContext> context) {
  boost::system::error_code error;
  const auto peer = socket.remote_endpoint(error);
  if (error) co_return;
  const std::string address = peer.address().to_string();
  const Limits& limits = context->limits;
  const auto session = std::make_shared<Session>(std::move(socket), context);
  const ClientShare share(*context, address);
  if (context->open() > limits.connections) {
    std::string message =
        fmt::format("this server has as many connections as it takes, {}; try again in a moment", limits.connections);
    co_await turn_away(session, 503, std::move(message));
    co_return;
  }
  if (limits.connections_per_client > 0 && share.count() > limits.connections_per_client) {
    std::string message = fmt::format("at most {} connections from one address at a time", limits.connections_per_client);
    co_await turn_away(session, 429, std::move(message));
    co_return;
  }
  bool more = co_await serve_request(session, address, true);
  while (more) more = co_await serve_request(session, address, false);
  session->close(false);
}

}  // namespace continuo::server
