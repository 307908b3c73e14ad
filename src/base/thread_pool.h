// A team of threads for short parallel loops. The caller is one of them. Between loops the others spin briefly (a decoding step
// is hundreds of loops of some microseconds), then yield, then sleep: a pure spin stalls when the machine is busy. A loop is open
// while it has work left; a thread that the system has put aside misses it, and the caller does that work too: it waits only
// for those that took some. Each thread has a share of neighbouring indices, so that what lies one after the other in memory is
// read so, and the same thread gets the same ones in the next loop; whoever is done helps the others.
#pragma once

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <thread>
#include <vector>

namespace continuo {

class ThreadPool {
 public:
  /// threads >= 1, the caller included.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }

  /// Calls body(index) for every index in [0, count), in any order and on any thread, and returns when all are done.
  /// One loop at a time; bodies must not throw and must not start loops.
  template <class Body>
  void parallel_for(std::int64_t count, Body&& body) {
    if (count <= 1 || workers_.empty()) {
      for (std::int64_t i = 0; i < count; ++i) body(i);
      return;
    }
    run(
        count, [](void* context, std::int64_t i) { (*static_cast<std::remove_reference_t<Body>*>(context))(i); },
        const_cast<void*>(static_cast<const void*>(&body)));
  }

 private:
  using Function = void (*)(void* context, std::int64_t index);
  struct alignas(64) Share {
    std::atomic<std::int64_t> next{0};
    std::int64_t end = 0;
  };
  void run(std::int64_t count, Function function, void* context);
  void work(std::size_t share);
  void worker_loop(std::size_t share);

  std::vector<std::thread> workers_;
  // The loop in progress; written by the caller before state_ announces it.
  Function function_ = nullptr;
  void* context_ = nullptr;
  std::vector<Share> shares_;
  // The loop's number in the upper half; below it whether the loop is open, and how many workers are in it.
  alignas(64) std::atomic<std::uint64_t> state_{0};
  std::atomic<int> sleepers_{0};
  std::atomic<bool> stop_{false};
  std::mutex mutex_;
  std::condition_variable wake_;
};

/// Physical cores this process may run on (hyper-threads counted once); at least 1.
int physical_cores();

}  // namespace continuo
