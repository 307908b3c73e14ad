// The way from other threads to what lives on the I/O thread, for as long as it lives: what is posted after close(), or arrives
// after it, is dropped.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <shared_mutex>

namespace continuo::server {

class Port : public std::enable_shared_from_this<Port> {
 public:
  explicit Port(boost::asio::any_io_executor executor) : executor_(std::move(executor)) {}
  /// Any thread; never waits for the I/O thread.
  void post(std::function<void()> work);
  /// I/O thread. Once it returns nobody touches the executor any more.
  void close();

 private:
  std::shared_mutex mutex_;
  bool open_ = true;
  boost::asio::any_io_executor executor_;
};

}  // namespace continuo::server
