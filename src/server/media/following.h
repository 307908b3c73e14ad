// Recordings and renditions change on other threads; this brings the news to a wake on the I/O thread.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>

#include "server/wake.h"

namespace continuo::server {

/// Made and destroyed on the I/O thread. Until then the wake is set whenever the source changes.
class Following {
 public:
  /// Source: Recording or Rendition.
  template <class Source>
  Following(const std::shared_ptr<Source>& source, Wake& wake, const boost::asio::any_io_executor& io) : Following(wake, io) {
    const auto number = source->listen(ring_);
    forget_ = [source, number] { source->forget(number); };
  }
  ~Following();
  Following(const Following&) = delete;
  Following& operator=(const Following&) = delete;

 private:
  struct Relay;
  Following(Wake& wake, const boost::asio::any_io_executor& io);

  std::shared_ptr<Relay> relay_;
  std::function<void()> ring_, forget_;
};

}  // namespace continuo::server
