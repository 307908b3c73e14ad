#include "server/media/following.h"

#include <atomic>
#include <boost/asio/post.hpp>

namespace continuo::server {

struct Following::Relay {
  boost::asio::any_io_executor io;
  Wake* wake;  // I/O thread only; null: nobody waits any more
  std::atomic<bool> on_its_way = false;

  static void ring(const std::shared_ptr<Relay>& relay) {
    if (relay->on_its_way.exchange(true)) return;
    boost::asio::post(relay->io, [relay] {
      relay->on_its_way = false;
      if (relay->wake != nullptr) relay->wake->set();
    });
  }
};

Following::Following(Wake& wake, const boost::asio::any_io_executor& io) : relay_(std::make_shared<Relay>()) {
  relay_->io = io;
  relay_->wake = &wake;
  ring_ = [relay = relay_] { Relay::ring(relay); };
}

Following::~Following() {
  if (forget_) forget_();
  relay_->wake = nullptr;
}

}  // namespace continuo::server
