#include "server/jobs/port.h"

#include <boost/asio/post.hpp>
#include <mutex>

namespace continuo::server {

void Port::post(std::function<void()> work) {
  const std::shared_lock lock(mutex_);
  if (!open_) return;
  boost::asio::post(executor_, [self = shared_from_this(), work = std::move(work)] {
    if (self->open_) work();
  });
}

void Port::close() {
  const std::unique_lock lock(mutex_);
  open_ = false;
}

}  // namespace continuo::server
