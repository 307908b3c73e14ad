// A real server on the loopback device, talked to over plain sockets, so that what is tested is what goes over the wire.
#include "server/http/connection.h"

#include <gtest/gtest.h>
#include <boost/asio/buffer.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/read_until.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/buffers_to_string.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/websocket/stream.hpp>
#include <future>
#include <stdexcept>
#include <thread>

#include "server/wake.h"

namespace continuo::server {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

class TestGate final : public Gate {
 public:
  Admission admit(HttpRequest& head) override {
    Admission admission;
    auto found = router.find(head.method, head.path);
    if (found.route == nullptr) {
      admission.refusal = error(404, "nothing here");
      return admission;
    }
    admission.route = found.route;
    head.captures = std::move(found.captures);
    admission.body_bytes = 1000;
    return admission;
  }
  HttpResponse error(int status, const std::string& message) const override {
    HttpResponse response;
    response.status = status;
    response.body = message;
    return response;
  }
  void note(const HttpRequest&, const Router::Route*, const Answered& answered) override { notes.push_back(answered); }
  void connected(int change) override { connections += change; }

  Router router;
  std::vector<Answered> notes;
  int connections = 0;
};

class ConnectionTest : public testing::Test {
 protected:
  ConnectionTest() : acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)) {
    context_->gate = &gate_;
    context_->server_name = "test";
    context_->limits.header_seconds = 0.3;
    context_->limits.body_seconds = 0.3;
    context_->limits.write_seconds = 0.3;
    gate_.router.add("GET", "/hello", [](Exchange& exchange) -> Task<void> {
      HttpResponse answer;
      answer.headers = {{"Content-Type", "text/plain"}, {"X-Odd", "a\r\nSet-Cookie: b"}};
      answer.body = "hello";
      co_await exchange.send(std::move(answer));
    });
    gate_.router.add("POST", "/echo", [](Exchange& exchange) -> Task<void> {
      HttpResponse answer;
      answer.body = exchange.request().body;
      co_await exchange.send(std::move(answer));
    });
    gate_.router.add("GET", "/chunks", [](Exchange& exchange) -> Task<void> {
      Headers none;
      co_await exchange.begin(200, std::move(none), std::nullopt);
      for (const char* word : {"one", "two"}) {
        std::string bytes = word;
        co_await exchange.write(std::move(bytes));
      }
      co_await exchange.end();
    });
    gate_.router.add("GET", "/breaks", [](Exchange& exchange) -> Task<void> {
      Headers none;
      co_await exchange.begin(200, std::move(none), std::nullopt);
      std::string bytes = "half";
      co_await exchange.write(std::move(bytes));
      throw std::runtime_error("planted");
    });
    gate_.router.add("GET", "/fails", [](Exchange&) -> Task<void> {
      throw std::runtime_error("planted");
      co_return;
    });
    gate_.router.add("GET", "/short", [](Exchange& exchange) -> Task<void> {
      Headers none;
      co_await exchange.begin(200, std::move(none), 10);
      std::string bytes = "four";
      co_await exchange.write(std::move(bytes));
      co_await exchange.end();
    });
    gate_.router.add("GET", "/waits", [this](Exchange& exchange) -> Task<void> {
      Wake wake(io_.get_executor());
      exchange.watch(wake);
      hung_up_ = co_await wake.wait(std::chrono::seconds(5)) && exchange.gone();
      done_.set_value();
    });
    gate_.router.add("GET", "/flood", [this](Exchange& exchange) -> Task<void> {
      Headers none;
      bool there = co_await exchange.begin(200, std::move(none), std::nullopt);
      while (there) {
        std::string bytes(1 << 16, 'x');
        there = co_await exchange.write(std::move(bytes));
      }
      done_.set_value();
    });
    gate_.router.add("GET", "/socket", [](Exchange& exchange) -> Task<void> {
      auto socket = co_await exchange.accept_websocket("");
      while (socket != nullptr) {
        auto message = co_await socket->read();
        if (!message || message->bytes == "bye") break;
        const bool written = co_await socket->write(std::move(message->bytes), message->binary);
        if (!written) break;
      }
      std::string reason = "done";
      if (socket != nullptr) co_await socket->close(1000, std::move(reason));
    });
    asio::co_spawn(io_, accept(), asio::detached);
    thread_ = std::thread([this] { io_.run(); });
  }
  ~ConnectionTest() override {
    io_.stop();
    thread_.join();
  }

  Task<void> accept() {
    for (;;) {
      boost::system::error_code error;
      tcp::socket socket = co_await acceptor_.async_accept(asio::redirect_error(asio::use_awaitable, error));
      if (error) co_return;
      asio::co_spawn(io_, serve_connection(std::move(socket), context_), asio::detached);
    }
  }

  tcp::socket connect() {
    tcp::socket socket(client_io_);
    socket.connect(acceptor_.local_endpoint());
    return socket;
  }
  static std::string rest_of(tcp::socket& socket) {
    std::string text;
    boost::system::error_code error;
    asio::read(socket, asio::dynamic_buffer(text), error);
    return text;
  }
  std::string talk(const std::string& request) {
    tcp::socket socket = connect();
    asio::write(socket, asio::buffer(request));
    return rest_of(socket);
  }
  std::string close_after(const std::string& line, const std::string& more = "", const std::string& body = "") {
    return talk(line + " HTTP/1.1\r\nHost: x\r\nConnection: close\r\n" + more + "\r\n" + body);
  }
  std::vector<Answered> notes() {
    std::promise<std::vector<Answered>> promise;
    asio::post(io_, [&] { promise.set_value(gate_.notes); });
    return promise.get_future().get();
  }

  TestGate gate_;
  asio::io_context io_{1};
  asio::io_context client_io_;
  tcp::acceptor acceptor_;
  std::shared_ptr<ConnectionContext> context_ = std::make_shared<ConnectionContext>();
  bool hung_up_ = false;
  std::promise<void> done_;
  std::thread thread_;
};

TEST_F(ConnectionTest, AnswersWithLengthAndNoInjectedFields) {
  const std::string answer = close_after("GET /hello");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 200 OK\r\n")) << answer;
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_EQ(answer.find("\nSet-Cookie"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\nhello"));
}

TEST_F(ConnectionTest, HeadHasNoBody) {
  const std::string answer = close_after("HEAD /hello");
  EXPECT_NE(answer.find("Content-Length: 5\r\n"), std::string::npos);
  EXPECT_TRUE(answer.ends_with("\r\n\r\n"));
  EXPECT_TRUE(close_after("HEAD /chunks").ends_with("\r\n\r\n"));
}

TEST_F(ConnectionTest, OneConnectionCarriesManyRequestsAlsoPipelined) {
  const std::string one = "GET /hello HTTP/1.1\r\nHost: x\r\n\r\n";
  const std::string last = "GET /hello HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n";
  const std::string answers = talk(one + one + last);
  std::size_t count = 0;
  for (std::size_t at = 0; (at = answers.find("200 OK", at)) != std::string::npos; ++at) ++count;
  EXPECT_EQ(count, 3U);
}

TEST_F(ConnectionTest, ChunksEndWithTheLastOneOrNotAtAll) {
  EXPECT_TRUE(close_after("GET /chunks").ends_with("3\r\none\r\n3\r\ntwo\r\n0\r\n\r\n"));
  const std::string broken = close_after("GET /breaks");
  EXPECT_TRUE(broken.ends_with("4\r\nhalf\r\n"));
  const std::string old = talk("GET /chunks HTTP/1.0\r\n\r\n");
  EXPECT_TRUE(old.ends_with("\r\n\r\nonetwo")) << old;
  EXPECT_EQ(old.find("chunked"), std::string::npos);
}

TEST_F(ConnectionTest, ABrokenAnswerToAnOldClientIsAReset) {
  tcp::socket socket = connect();
  asio::write(socket, asio::buffer(std::string("GET /breaks HTTP/1.0\r\n\r\n")));
  std::string text;
  boost::system::error_code error;
  asio::read(socket, asio::dynamic_buffer(text), error);
  EXPECT_EQ(error, asio::error::connection_reset);
}

TEST_F(ConnectionTest, AnAnswerShorterThanAnnouncedIsCut) {
  EXPECT_TRUE(close_after("GET /short").ends_with("\r\n\r\nfour"));
  const auto all = notes();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_TRUE(all[0].cut);
}

TEST_F(ConnectionTest, WhatAHandlerThrowsIsA500WithoutItsText) {
  const std::string answer = close_after("GET /fails");
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 500"));
  EXPECT_EQ(answer.find("planted"), std::string::npos);
  EXPECT_EQ(notes().at(0).failure, "planted");
}

TEST_F(ConnectionTest, BodiesAreReadWithinTheirLimit) {
  EXPECT_TRUE(close_after("POST /echo", "Content-Length: 3\r\n", "abc").ends_with("\r\n\r\nabc"));
  EXPECT_TRUE(close_after("POST /echo", "Transfer-Encoding: chunked\r\n", "3\r\nabc\r\n0\r\n\r\n").ends_with("\r\n\r\nabc"));
  EXPECT_TRUE(close_after("POST /echo", "Content-Length: 1001\r\n").starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(close_after("POST /echo", "Content-Length: 1000000\r\n", std::string(1000000, 'x')).starts_with("HTTP/1.1 413"));
  EXPECT_TRUE(close_after("POST /echo", "Transfer-Encoding: chunked\r\n", "400\r\n" + std::string(1024, 'x') + "\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 413"));
}

TEST_F(ConnectionTest, ABodyThatDoesNotComeIsATimeout) {
  EXPECT_TRUE(close_after("POST /echo", "Content-Length: 3\r\n", "a").starts_with("HTTP/1.1 408"));
}

TEST_F(ConnectionTest, ExpectationsAreAnsweredFirst) {
  tcp::socket socket = connect();
  asio::write(socket,
              asio::buffer(std::string(
                  "POST /echo HTTP/1.1\r\nHost: x\r\nConnection: close\r\nExpect: 100-continue\r\nContent-Length: 2\r\n\r\n")));
  std::string first;
  asio::read_until(socket, asio::dynamic_buffer(first), "\r\n\r\n");
  EXPECT_TRUE(first.starts_with("HTTP/1.1 100 "));
  asio::write(socket, asio::buffer(std::string("ok")));
  EXPECT_TRUE(rest_of(socket).ends_with("\r\n\r\nok"));
}

TEST_F(ConnectionTest, NonsenseIsA400AndTooMuchOfItA431) {
  EXPECT_TRUE(talk("nonsense\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(talk("GET /%zz HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n").starts_with("HTTP/1.1 400"));
  EXPECT_TRUE(talk("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20000, 'y') + "\r\n\r\n").starts_with("HTTP/1.1 431"));
  // Two lengths are how requests are smuggled past a proxy.
  EXPECT_TRUE(talk("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n")
                  .starts_with("HTTP/1.1 400"));
}

TEST_F(ConnectionTest, AHeadThatDoesNotComeEndsTheConnection) {
  EXPECT_TRUE(talk("GET /hel").starts_with("HTTP/1.1 408"));
  EXPECT_EQ(talk(""), "");
}

TEST_F(ConnectionTest, AHandlerLearnsThatItsClientHungUp) {
  {
    tcp::socket socket = connect();
    asio::write(socket, asio::buffer(std::string("GET /waits HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }
  ASSERT_EQ(done_.get_future().wait_for(std::chrono::seconds(4)), std::future_status::ready);
  EXPECT_TRUE(hung_up_);
}

TEST_F(ConnectionTest, AClientThatReadsNothingIsLetGo) {
  tcp::socket socket = connect();
  asio::write(socket, asio::buffer(std::string("GET /flood HTTP/1.1\r\nHost: x\r\n\r\n")));
  ASSERT_EQ(done_.get_future().wait_for(std::chrono::seconds(8)), std::future_status::ready);
  EXPECT_TRUE(notes().at(0).cut);
}

TEST_F(ConnectionTest, MoreConnectionsThanMayBeAreTurnedAway) {
  std::promise<void> limited;
  asio::post(io_, [&] {
    context_->limits.connections_per_client = 1;
    context_->limits.header_seconds = 5.0;
    limited.set_value();
  });
  limited.get_future().get();
  {
    tcp::socket first = connect();
    asio::write(first, asio::buffer(std::string("GET /hello HTTP/1.1\r\nHost: x\r\n\r\n")));
    std::string answer;
    asio::read_until(first, asio::dynamic_buffer(answer), "hello");
    EXPECT_TRUE(close_after("GET /hello").starts_with("HTTP/1.1 429"));
  }
  // The place is free again once the server has seen that the first is gone.
  std::string again;
  for (int i = 0; i < 200 && !again.starts_with("HTTP/1.1 200"); ++i) {
    again = close_after("GET /hello");
    if (!again.starts_with("HTTP/1.1 200")) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  EXPECT_TRUE(again.starts_with("HTTP/1.1 200")) << again;
}

TEST_F(ConnectionTest, WebSocketsCarryMessagesBothWays) {
  boost::beast::websocket::stream<tcp::socket> socket(client_io_);
  socket.next_layer().connect(acceptor_.local_endpoint());
  socket.handshake("x", "/socket");
  boost::beast::flat_buffer buffer;
  socket.binary(true);
  socket.write(asio::buffer(std::string("\x00\x01", 2)));
  socket.read(buffer);
  EXPECT_TRUE(socket.got_binary());
  EXPECT_EQ(boost::beast::buffers_to_string(buffer.data()), std::string("\x00\x01", 2));
  socket.text(true);
  socket.write(asio::buffer(std::string("bye")));
  boost::system::error_code error;
  socket.read(buffer, error);
  EXPECT_EQ(error, boost::beast::websocket::error::closed);
  EXPECT_EQ(socket.reason().code, 1000);
}

}  // namespace
}  // namespace continuo::server
