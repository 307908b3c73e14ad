// What jobs hold of their engine, which may be gone before them.
#pragma once

#include <mutex>
#include <shared_mutex>

namespace continuo::engine {

template <class Target>
class Link {
 public:
  explicit Link(Target* target) : target_(target) {}

  /// Calls use(*target) if the target is still there; it stays until the call returns.
  template <class Use>
  bool with(Use&& use) {
    const std::shared_lock lock(mutex_);
    if (target_ != nullptr) use(*target_);
    return target_ != nullptr;
  }
  /// The target is about to go: waits for the calls that are under way, and lets no more in.
  void cut() {
    const std::unique_lock lock(mutex_);
    target_ = nullptr;
  }

 private:
  std::shared_mutex mutex_;
  Target* target_;
};

}  // namespace continuo::engine
