#include "server/front.h"

#include <gtest/gtest.h>
#include <unistd.h>
#include <fstream>

namespace continuo::server {
namespace {

class FrontTest : public testing::Test {
 protected:
  FrontTest() {
    const auto nothing = [](Exchange&) -> Task<void> { co_return; };
    router_.add("GET", "/health", nothing, {0, true, false});
    router_.add("GET", "/v1/jobs/{id}", nothing);
    router_.add("POST", "/v1/jobs", nothing, {1234, false, true});
    limits_.requests_per_minute = 2;
    Log::Options quiet;
    quiet.level = Log::Level::off;
    log_ = Log::create(quiet);
    path_ = testing::TempDir() + "front_keys_" + std::to_string(::getpid());
    std::ofstream(path_) << "alice: 0123456789abcdef\n";
    ::chmod(path_.c_str(), 0600);
    keys_ = Keys::load(path_).value();
  }
  ~FrontTest() override { ::unlink(path_.c_str()); }

  Front front(bool keys, Front::Hooks hooks = {}) {
    return Front(router_, hosts_, keys ? keys_.get() : nullptr, limits_, *log_, std::move(hooks));
  }
  static HttpRequest request(std::string method, std::string path, std::map<std::string, std::string, std::less<>> headers = {}) {
    HttpRequest request;
    request.method = std::move(method);
    request.path = std::move(path);
    request.headers = std::move(headers);
    request.headers.emplace("host", "localhost:8080");
    request.client = "ip:127.0.0.1";
    return request;
  }
  static int status(const Admission& admission) { return admission.route != nullptr ? 0 : admission.refusal.status; }
  static std::string header(const Admission& admission, std::string_view name) {
    for (const auto& [key, value] : admission.refusal.headers) {
      if (key == name) return value;
    }
    return {};
  }

  Router router_;
  Hosts hosts_ = Hosts::create("127.0.0.1", {}, {"https://music.example"}).value();
  Limits limits_;
  std::unique_ptr<Log> log_;
  std::string path_;
  std::unique_ptr<Keys> keys_;
};

TEST_F(FrontTest, ARequestGetsItsRouteItsLimitAndItsCaptures) {
  Front front = this->front(false);
  auto head = request("GET", "/v1/jobs/ab");
  EXPECT_EQ(status(front.admit(head)), 0);
  EXPECT_EQ(head.captures.at("id"), "ab");
  auto post = request("POST", "/v1/jobs");
  EXPECT_EQ(front.admit(post).body_bytes, 1234);
}

TEST_F(FrontTest, WhatIsNotThereAndWhatIsNotPossible) {
  Front front = this->front(false);
  auto missing = request("GET", "/v2");
  EXPECT_EQ(status(front.admit(missing)), 404);
  auto method = request("PUT", "/v1/jobs");
  const Admission refused = front.admit(method);
  EXPECT_EQ(status(refused), 405);
  EXPECT_EQ(header(refused, "Allow"), "POST");
}

TEST_F(FrontTest, WithKeysOnlyOpenRoutesNeedNone) {
  Front front = this->front(true);
  auto open = request("GET", "/health");
  EXPECT_EQ(status(front.admit(open)), 0);
  // Not even which routes there are.
  for (const char* path : {"/v1/jobs/ab", "/nothing"}) {
    auto none = request("GET", path);
    EXPECT_EQ(status(front.admit(none)), 401) << path;
    auto wrong = request("GET", path, {{"authorization", "Bearer 0123456789abcdeX"}});
    EXPECT_EQ(status(front.admit(wrong)), 401) << path;
  }
  auto right = request("GET", "/v1/jobs/ab", {{"authorization", "Bearer 0123456789abcdef"}});
  EXPECT_EQ(status(front.admit(right)), 0);
  EXPECT_EQ(right.client, "key:alice");
  auto other = request("GET", "/v1/jobs/ab", {{"x-api-key", "0123456789abcdef"}});
  EXPECT_EQ(status(front.admit(other)), 0);
}

TEST_F(FrontTest, ForeignHostsAndOriginsAreRefusedEvenWithAKey) {
  Front front = this->front(true);
  auto rebound = request("GET", "/health", {{"host", "evil.example"}});
  EXPECT_EQ(status(front.admit(rebound)), 403);
  auto page = request("GET", "/v1/jobs/ab", {{"origin", "https://evil.example"}, {"authorization", "Bearer 0123456789abcdef"}});
  EXPECT_EQ(status(front.admit(page)), 403);
  auto listed = request("OPTIONS", "/v1/jobs", {{"origin", "https://music.example"}, {"access-control-request-method", "POST"}});
  EXPECT_EQ(status(front.admit(listed)), 204);
}

TEST_F(FrontTest, MusicHasARateForEachClient) {
  std::vector<std::string> rejected;
  Front::Hooks hooks;
  hooks.rejected = [&](const std::string& reason) { rejected.push_back(reason); };
  Front front = this->front(false, std::move(hooks));
  for (int i = 0; i < 2; ++i) {
    auto fine = request("POST", "/v1/jobs");
    EXPECT_EQ(status(front.admit(fine)), 0);
  }
  auto more = request("POST", "/v1/jobs");
  const Admission refused = front.admit(more);
  EXPECT_EQ(status(refused), 429);
  EXPECT_GE(std::stoi(header(refused, "Retry-After")), 1);
  EXPECT_EQ(rejected, std::vector<std::string>{"rate"});
  auto other = request("POST", "/v1/jobs");
  other.client = "ip:127.0.0.2";
  EXPECT_EQ(status(front.admit(other)), 0);
  auto look = request("GET", "/v1/jobs/ab");
  EXPECT_EQ(status(front.admit(look)), 0);
}

TEST_F(FrontTest, AServerThatIsNotReadySaysSo) {
  Front::Hooks hooks;
  hooks.unready = [](const Router::Route& route) -> std::optional<ApiError> {
    if (route.options.open) return std::nullopt;
    return ApiError{503, "loading", {}, "loading"};
  };
  Front front = this->front(false, std::move(hooks));
  auto job = request("GET", "/v1/jobs/ab");
  EXPECT_EQ(status(front.admit(job)), 503);
  auto health = request("GET", "/health");
  EXPECT_EQ(status(front.admit(health)), 0);
}

}  // namespace
}  // namespace continuo::server
