#include "server/media/listeners.h"

#include <utility>

namespace continuo::server {

std::int64_t Listeners::add(std::function<void()> listener) {
  const std::lock_guard lock(mutex_);
  listeners_.emplace(next_, std::move(listener));
  return next_++;
}

void Listeners::remove(std::int64_t number) {
  std::function<void()> removed;  // what it holds goes after the lock
  const std::lock_guard lock(mutex_);
  const auto found = listeners_.find(number);
  if (found == listeners_.end()) return;
  removed = std::move(found->second);
  listeners_.erase(found);
}

void Listeners::call() {
  const std::lock_guard lock(mutex_);
  for (const auto& [number, listener] : listeners_) listener();
}

}  // namespace continuo::server
