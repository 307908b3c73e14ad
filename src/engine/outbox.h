// Events of one job on their way from the engine to its reader. The engine puts, readers take; nobody waits for the other but a
// reader who asked to.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>

#include "engine/engine.h"

namespace continuo::engine {

class Outbox {
 public:
  /// notify is called after each put; `taken` after each take of sound (it tells the engine that there is room again).
  Outbox(std::function<void()> notify, std::function<void()> taken) : notify_(std::move(notify)), taken_(std::move(taken)) {}

  /// News of a kind replace older news of that kind which nobody has taken yet; sound is kept. Nothing follows Finished or
  /// Failed.
  void put(Event event);
  std::optional<Event> take();
  /// Negative: no limit. Nothing when the time is over or the last event has been taken.
  std::optional<Event> wait(double seconds);
  /// Samples (of all channels) that wait to be taken.
  std::int64_t waiting_samples() const;
  bool ended() const;
  /// The reader is gone: drops what waits and whatever comes.
  void close();

 private:
  std::optional<Event> take_locked(std::unique_lock<std::mutex>& lock);

  mutable std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<Event> events_;
  std::int64_t waiting_samples_ = 0;
  bool ended_ = false;
  bool closed_ = false;
  std::function<void()> notify_;
  std::function<void()> taken_;
};

}  // namespace continuo::engine
