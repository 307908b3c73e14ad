// Tells another server that a job has ended: a POST with the job as JSON. On a thread of its own; what fails is tried again a few
// times and then only logged.
//
// Only hosts that the operator listed are called, on the ports that were listed; redirects are not followed, and nothing of the
// answer but its status is looked at.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace continuo::server {

class Webhooks {
 public:
  struct Options {
    std::vector<std::string> hosts;  // as in ServerOptions::webhook_hosts
    std::chrono::milliseconds timeout{10'000};
    std::vector<std::chrono::milliseconds> pauses{std::chrono::seconds(1), std::chrono::seconds(5), std::chrono::seconds(30)};
    std::size_t most_waiting = 1000;                  // more are dropped, and logged
    std::function<void(const std::string&)> trouble;  // from the thread; may be empty
  };
  explicit Webhooks(Options options);
  /// Breaks off what is under way.
  ~Webhooks();
  Webhooks(const Webhooks&) = delete;
  Webhooks& operator=(const Webhooks&) = delete;

  /// Never waits.
  void send(std::string url, std::string json);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace continuo::server
