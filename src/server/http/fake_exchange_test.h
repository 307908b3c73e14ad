// An exchange without a connection, for tests of handlers: it remembers the answer, and the test decides how fast it is read and
// when the client hangs up.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <exception>
#include <string>

#include "server/http/exchange.h"
#include "server/wake.h"

namespace continuo::server::test {

/// What the client saw. length: as announced.
struct Answer {
  int status = 0;
  Headers headers;
  std::optional<std::int64_t> length;
  std::string body;
  bool streamed = false, ended = false, aborted = false;

  std::string header(std::string_view name) const {
    for (const auto& [key, value] : headers) {
      if (key == name) return value;
    }
    return {};
  }
};

class FakeExchange final : public Exchange, public Answer {
 public:
  FakeExchange(boost::asio::io_context& io, std::string method) : timer_(io) { asked.method = std::move(method); }

  HttpRequest asked;
  // How the client behaves.
  std::chrono::microseconds pause_per_write{0};
  std::function<void()> after_write;

  void hang_up() {
    gone_ = true;
    watchers_.set_all();
  }
  const HttpRequest& request() const override { return asked; }
  Task<void> send(HttpResponse response) override {
    status = response.status;
    headers = std::move(response.headers);
    body = std::move(response.body);
    ended = true;
    co_return;
  }
  Task<bool> begin(int begun_status, Headers begun_headers, std::optional<std::int64_t> begun_length) override {
    streamed = true;
    status = begun_status;
    headers = std::move(begun_headers);
    length = begun_length;
    co_return !gone_;
  }
  Task<bool> write(std::string bytes) override {
    if (pause_per_write.count() > 0) {
      timer_.expires_after(pause_per_write);
      co_await timer_.async_wait(boost::asio::use_awaitable);
    }
    if (gone_) co_return false;
    if (asked.method != "HEAD") body += bytes;
    if (after_write) after_write();
    co_return !gone_;
  }
  Task<void> end() override {
    ended = true;
    co_return;
  }
  void abort() override { aborted = true; }
  bool begun() const override { return status != 0; }
  bool gone() const override { return gone_; }
  void watch(Wake& wake) override { watchers_.add(wake); }
  bool wants_websocket() const override { return false; }
  Task<std::unique_ptr<WebSocket>> accept_websocket(std::string) override { co_return nullptr; }

 private:
  boost::asio::steady_timer timer_;
  bool gone_ = false;
  Wakes watchers_;
};

/// Runs until nothing is left to do; exceptions of the task come out.
inline void run_to_end(boost::asio::io_context& io, Task<void> task) {
  std::exception_ptr thrown;
  boost::asio::co_spawn(io, std::move(task), [&](std::exception_ptr error) { thrown = error; });
  io.restart();
  io.run();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace continuo::server::test
