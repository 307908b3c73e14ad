#include "server/jobs/webhook.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <condition_variable>
#include <mutex>
#include <thread>

namespace continuo::server {
namespace {

/// Answers each connection with the next of the answers, and keeps what it was sent.
class Listener {
 public:
  explicit Listener(std::vector<std::string> answers) : answers_(std::move(answers)) {
    socket_ = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof(address);
    EXPECT_EQ(::bind(socket_, reinterpret_cast<sockaddr*>(&address), size), 0);
    EXPECT_EQ(::listen(socket_, 8), 0);
    EXPECT_EQ(::getsockname(socket_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port = ntohs(address.sin_port);
    thread_ = std::thread([this] { run(); });
  }
  ~Listener() {
    ::shutdown(socket_, SHUT_RDWR);
    thread_.join();
    ::close(socket_);
  }
  std::string host() const { return "127.0.0.1:" + std::to_string(port); }
  std::string url() const { return "http://" + host() + "/hook?secret=1"; }
  bool wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, std::chrono::seconds(30), [&] { return got_.size() >= count; });
  }
  std::vector<std::string> got() {
    const std::lock_guard lock(mutex_);
    return got_;
  }
  int port = 0;

 private:
  void run() {
    for (std::size_t i = 0;; ++i) {
      const int peer = ::accept(socket_, nullptr, nullptr);
      if (peer < 0) return;
      std::string text;
      char bytes[4096];
      while (text.find("}") == std::string::npos) {  // the bodies here end with the only one
        const ssize_t count = ::read(peer, bytes, sizeof(bytes));
        if (count <= 0) break;
        text.append(bytes, static_cast<std::size_t>(count));
      }
      const std::string answer = i < answers_.size() ? answers_[i] : "HTTP/1.1 204 No Content\r\nConnection: close\r\n\r\n";
      {
        const std::lock_guard lock(mutex_);
        got_.push_back(text);
      }
      changed_.notify_all();
      if (answer != "silence") {
        EXPECT_EQ(::write(peer, answer.data(), answer.size()), static_cast<ssize_t>(answer.size()));
      }
      if (answer == "silence") {
        while (::read(peer, bytes, sizeof(bytes)) > 0) {
        }
      }
      ::close(peer);
    }
  }

  std::vector<std::string> answers_;
  int socket_ = -1;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> got_;
  std::thread thread_;
};

/// What was logged.
class Troubles {
 public:
  std::function<void(const std::string&)> sink() {
    return [this](const std::string& what) {
      {
        const std::lock_guard lock(mutex_);
        lines_.push_back(what);
      }
      changed_.notify_all();
    };
  }
  std::string wait() {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(30), [&] { return !lines_.empty(); });
    return lines_.empty() ? "" : lines_.front();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<std::string> lines_;
};

Webhooks::Options options_for(std::vector<std::string> hosts, Troubles& troubles) {
  Webhooks::Options options;
  options.hosts = std::move(hosts);
  options.pauses = {std::chrono::milliseconds(1), std::chrono::milliseconds(1)};
  options.trouble = troubles.sink();
  return options;
}

std::string answer(const std::string& head) { return "HTTP/1.1 " + head + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"; }

TEST(Webhooks, PostTheJobAndTryAgainAfterATrouble) {
  Listener listener({answer("503 Busy"), answer("200 OK")});
  Troubles troubles;
  Webhooks hooks(options_for({listener.host()}, troubles));
  hooks.send(listener.url(), R"({"id":"job-1"})");
  ASSERT_TRUE(listener.wait_for(2));
  hooks.send(listener.url(), R"({"id":"job-2"})");
  ASSERT_TRUE(listener.wait_for(3));
  const auto got = listener.got();
  EXPECT_TRUE(got[0].starts_with("POST /hook?secret=1 HTTP/1.1\r\n")) << got[0];
  EXPECT_NE(got[0].find("Content-Type: application/json\r\n"), std::string::npos);
  EXPECT_TRUE(got[0].ends_with("\r\n\r\n{\"id\":\"job-1\"}"));
  EXPECT_EQ(got[0], got[1]);
  EXPECT_TRUE(got[2].ends_with("{\"id\":\"job-2\"}"));
}

TEST(Webhooks, GiveUpAndLogWithoutTheQuery) {
  Listener listener({answer("500 No"), answer("500 No"), answer("500 No")});
  Troubles troubles;
  Webhooks hooks(options_for({listener.host()}, troubles));
  hooks.send(listener.url(), "{}");
  EXPECT_EQ(troubles.wait(), "the webhook http://" + listener.host() + "/hook was not reached: it answered 500");
  EXPECT_EQ(listener.got().size(), 3U);
}

TEST(Webhooks, FollowNoRedirectAndDoNotRepeatWhatWasRefused) {
  Listener other({});
  Listener listener({"HTTP/1.1 302 Found\r\nLocation: " + other.url() + "\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"});
  Troubles troubles;
  Webhooks hooks(options_for({listener.host(), other.host()}, troubles));
  hooks.send(listener.url(), "{}");
  EXPECT_NE(troubles.wait().find("it answered 302"), std::string::npos);
  EXPECT_EQ(listener.got().size(), 1U);
  EXPECT_TRUE(other.got().empty());
}

TEST(Webhooks, CallNobodyWhoIsNotListed) {
  Listener listener({});
  Troubles troubles;
  Webhooks hooks(options_for({"127.0.0.1"}, troubles));  // that is port 80
  hooks.send(listener.url(), "{}");
  EXPECT_NE(troubles.wait().find("not one that this server may call"), std::string::npos);
  EXPECT_TRUE(listener.got().empty());
}

TEST(Webhooks, AnEndDoesNotWaitForWhoDoesNotAnswer) {
  Listener listener({"silence"});
  Troubles troubles;
  const auto start = std::chrono::steady_clock::now();
  {
    Webhooks hooks(options_for({listener.host()}, troubles));
    hooks.send(listener.url(), "{}");
    hooks.send(listener.url(), "{}");
    ASSERT_TRUE(listener.wait_for(1));
  }
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(8));
}

TEST(Webhooks, WhoDoesNotAnswerIsGivenUp) {
  Listener listener({"silence"});
  Troubles troubles;
  auto options = options_for({listener.host()}, troubles);
  options.timeout = std::chrono::milliseconds(50);
  options.pauses.clear();
  Webhooks hooks(std::move(options));
  hooks.send(listener.url(), "{}");
  EXPECT_NE(troubles.wait().find("Timeout was reached"), std::string::npos);
}

}  // namespace
}  // namespace continuo::server
