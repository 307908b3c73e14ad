#include "server/wake.h"

#include <algorithm>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/use_awaitable.hpp>

namespace continuo::server {

Wake::Wake(const boost::asio::any_io_executor& executor) : timer_(executor) {}

Wake::~Wake() {
  for (Wakes* source : sources_) std::erase(source->wakes_, this);
}

void Wake::set() {
  set_ = true;
  timer_.cancel();
}

boost::asio::awaitable<bool> Wake::wait(std::chrono::steady_clock::duration at_most) {
  if (!set_) {
    timer_.expires_after(at_most);
    boost::system::error_code ignored;
    co_await timer_.async_wait(boost::asio::redirect_error(boost::asio::use_awaitable, ignored));
  }
  co_return std::exchange(set_, false);
}

Wakes::~Wakes() {
  for (Wake* wake : wakes_) std::erase(wake->sources_, this);
}

void Wakes::add(Wake& wake) {
  if (std::find(wakes_.begin(), wakes_.end(), &wake) != wakes_.end()) return;
  wakes_.push_back(&wake);
  wake.sources_.push_back(this);
}

void Wakes::remove(Wake& wake) {
  std::erase(wakes_, &wake);
  std::erase(wake.sources_, this);
}

void Wakes::set_all() {
  for (Wake* wake : wakes_) wake->set();
}

}  // namespace continuo::server
