#include "engine/outbox.h"

#include <algorithm>
#include <chrono>

namespace continuo::engine {

void Outbox::put(Event event) {
  {
    const std::lock_guard lock(mutex_);
    if (ended_ || closed_) return;
    ended_ = std::holds_alternative<Finished>(event) || std::holds_alternative<Failed>(event);
    if (const auto* audio = std::get_if<Audio>(&event)) {
      waiting_samples_ += static_cast<std::int64_t>(audio->samples.size());
    } else if (!ended_) {
      std::erase_if(events_, [&](const Event& waiting) { return waiting.index() == event.index(); });
    }
    events_.push_back(std::move(event));
  }
  ready_.notify_all();
  if (notify_) notify_();
}

std::optional<Event> Outbox::take_locked(std::unique_lock<std::mutex>& lock) {
  if (events_.empty()) return std::nullopt;
  Event event = std::move(events_.front());
  events_.pop_front();
  const auto* audio = std::get_if<Audio>(&event);
  if (audio != nullptr) waiting_samples_ -= static_cast<std::int64_t>(audio->samples.size());
  lock.unlock();
  if (audio != nullptr && taken_) taken_();
  return event;
}

std::optional<Event> Outbox::take() {
  std::unique_lock lock(mutex_);
  return take_locked(lock);
}

std::optional<Event> Outbox::wait(double seconds) {
  std::unique_lock lock(mutex_);
  const auto something = [&] { return !events_.empty() || ended_ || closed_; };
  if (seconds < 0.0) {
    ready_.wait(lock, something);
  } else {
    ready_.wait_for(lock, std::chrono::duration<double>(seconds), something);
  }
  return take_locked(lock);
}

std::int64_t Outbox::waiting_samples() const {
  const std::lock_guard lock(mutex_);
  return waiting_samples_;
}

bool Outbox::ended() const {
  const std::lock_guard lock(mutex_);
  return ended_;
}

void Outbox::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
  events_.clear();
  waiting_samples_ = 0;
}

}  // namespace continuo::engine
