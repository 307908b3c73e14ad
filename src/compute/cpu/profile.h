// Where an executor's time goes: a clock around each operator. Two readings cost some 50 ns, which no operator notices.
#pragma once

#include <chrono>
#include <vector>

#include "compute/executor.h"

namespace continuo::compute::cpu {

class Profile {
 public:
  /// Counts one call of an operator from its making to its end.
  class Timed {
   public:
    Timed(Profile& profile, const char* kind, std::int64_t in = 0, std::int64_t out = 0, bool linear = false)
        : entry_(profile.entry(kind, in, out, linear)), start_(std::chrono::steady_clock::now()) {}
    ~Timed() {
      entry_.seconds += std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
      ++entry_.calls;
    }
    Timed(const Timed&) = delete;
    Timed& operator=(const Timed&) = delete;
    void add(std::int64_t bytes, std::int64_t multiply_adds) {
      entry_.bytes += bytes;
      entry_.multiply_adds += multiply_adds;
    }

   private:
    OperatorTime& entry_;
    std::chrono::steady_clock::time_point start_;
  };

  std::vector<OperatorTime> take();

 private:
  struct Key {
    const char* kind;
    std::int64_t in;
    std::int64_t out;
  };
  /// Valid until another kind of operator turns up, so operators are not nested.
  OperatorTime& entry(const char* kind, std::int64_t in, std::int64_t out, bool linear);

  std::vector<Key> keys_;
  std::vector<OperatorTime> entries_;
};

}  // namespace continuo::compute::cpu
