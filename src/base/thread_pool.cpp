#include "base/thread_pool.h"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <string>

namespace continuo {

namespace {

constexpr int spins = 2000;     // a few microseconds
constexpr int yields = 200;     // then let others run before sleeping
constexpr int most_shares = 8;  // every thread looks at all of them before it leaves a loop

constexpr std::uint64_t open = std::uint64_t{1} << 31;  // of state_
constexpr std::uint64_t inside = open - 1;

std::uint64_t loop_of(std::uint64_t state) { return state >> 32; }

void pause_cpu() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

}  // namespace

ThreadPool::ThreadPool(int threads) : shares_(static_cast<std::size_t>(std::clamp(threads, 1, most_shares))) {
  for (int i = 1; i < threads; ++i)
    workers_.emplace_back([this, share = static_cast<std::size_t>(i) % shares_.size()] { worker_loop(share); });
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stop_.store(true);
    state_.store((loop_of(state_.load()) + 1) << 32);
  }
  wake_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::run(std::int64_t count, Function function, void* context) {
  // Nobody is in a loop now, so what a loop consists of may change.
  function_ = function;
  context_ = context;
  const auto shares = static_cast<std::int64_t>(shares_.size());
  for (std::int64_t s = 0; s < shares; ++s) {
    Share& share = shares_[static_cast<std::size_t>(s)];
    share.next.store(count * s / shares, std::memory_order_relaxed);
    share.end = count * (s + 1) / shares;
  }
  state_.store((loop_of(state_.load()) + 1) << 32 | open);  // sequentially consistent: a worker that goes to sleep is seen in
  if (sleepers_.load() > 0) {                               // sleepers_, or sees the new loop
    { const std::lock_guard lock(mutex_); }
    wake_.notify_all();
  }
  work(0);
  state_.fetch_and(~open);
  for (int spin = 0; (state_.load(std::memory_order_acquire) & inside) != 0; ++spin) {
    if (spin < spins) {
      pause_cpu();
    } else {
      std::this_thread::yield();
    }
  }
}

void ThreadPool::work(std::size_t first) {
  for (std::size_t s = 0; s < shares_.size(); ++s) {
    Share& share = shares_[(first + s) % shares_.size()];
    // The look before the step keeps those who come late from pulling the counter out of its owner's cache.
    while (share.next.load(std::memory_order_relaxed) < share.end) {
      const std::int64_t i = share.next.fetch_add(1, std::memory_order_relaxed);
      if (i < share.end) function_(context_, i);
    }
  }
}

void ThreadPool::worker_loop(std::size_t share) {
  std::uint64_t seen = 0;
  for (;;) {
    int waited = 0;
    std::uint64_t state = state_.load(std::memory_order_acquire);
    while (loop_of(state) == seen) {
      ++waited;
      if (waited < spins) {
        pause_cpu();
      } else if (waited < spins + yields) {
        std::this_thread::yield();
      } else {
        std::unique_lock lock(mutex_);
        sleepers_.fetch_add(1);
        wake_.wait(lock, [&] { return loop_of(state_.load()) != seen; });
        sleepers_.fetch_sub(1);
      }
      state = state_.load(std::memory_order_acquire);
    }
    if (stop_.load()) return;
    seen = loop_of(state);
    bool entered = false;
    while (!entered && loop_of(state) == seen && (state & open) != 0) {
      entered = state_.compare_exchange_weak(state, state + 1, std::memory_order_acq_rel, std::memory_order_acquire);
    }
    if (!entered) continue;  // too late: the others have done it all
    work(share);
    state_.fetch_sub(1, std::memory_order_release);
  }
}

int physical_cores() {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return 1;
  std::set<std::string> cores;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    std::ifstream siblings("/sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/thread_siblings_list");
    std::string list;
    if (!(siblings >> list)) list = std::to_string(cpu);
    cores.insert(list);
  }
  return cores.empty() ? 1 : static_cast<int>(cores.size());
}

}  // namespace continuo
