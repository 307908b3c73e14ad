// Those who are told that a recording or a rendition changed, on whatever thread changed it. No call is under way any more when
// remove() returns, so a listener may refer to what is destroyed after it; a call itself must neither add nor remove.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <mutex>

namespace continuo::server {

class Listeners {
 public:
  std::int64_t add(std::function<void()> listener);
  void remove(std::int64_t number);
  void call();

 private:
  std::mutex mutex_;  // held while they are called
  std::map<std::int64_t, std::function<void()>> listeners_;
  std::int64_t next_ = 1;
};

}  // namespace continuo::server
