// How a coroutine waits for something to happen: it has a Wake of its own, subscribes it to whatever matters, and waits. A wake
// that was set before the wait is not lost. All on the I/O thread; other threads post there first.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <vector>

namespace continuo::server {

class Wakes;

class Wake {
 public:
  explicit Wake(const boost::asio::any_io_executor& executor);
  ~Wake();
  Wake(const Wake&) = delete;
  Wake& operator=(const Wake&) = delete;

  void set();
  /// Returns once set() was called since the last wait, or when the time is over. True: it was set.
  boost::asio::awaitable<bool> wait(std::chrono::steady_clock::duration at_most);

 private:
  friend class Wakes;
  boost::asio::steady_timer timer_;
  bool set_ = false;
  std::vector<Wakes*> sources_;
};

/// Those who want to know of one thing.
class Wakes {
 public:
  Wakes() = default;
  ~Wakes();
  Wakes(const Wakes&) = delete;
  Wakes& operator=(const Wakes&) = delete;

  /// Until the wake, or this, goes.
  void add(Wake& wake);
  void remove(Wake& wake);
  void set_all();

 private:
  friend class Wake;
  std::vector<Wake*> wakes_;
};

}  // namespace continuo::server
