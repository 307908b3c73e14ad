// Memory for the tensors of one pass: handed out by moving a mark, all given back at once. After the first passes have shown
// how much is needed, a pass allocates nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <vector>

#include "compute/executor.h"

namespace continuo::compute::cpu {

struct FreeAligned {
  std::align_val_t alignment{64};
  bool owned = true;
  void operator()(std::byte* p) const {
    if (owned) ::operator delete(p, alignment);
  }
};

/// Uninitialised memory on 64-byte borders.
class AlignedBytes {
 public:
  AlignedBytes() = default;
  explicit AlignedBytes(std::size_t size);
  /// Somebody else's memory.
  AlignedBytes(std::byte* data, std::size_t size) : data_(data, FreeAligned{std::align_val_t{64}, false}), size_(size) {}
  std::byte* data() const { return data_.get(); }
  std::size_t size() const { return size_; }

 private:
  std::unique_ptr<std::byte, FreeAligned> data_;
  std::size_t size_ = 0;
};

/// Memory for what stays as long as its owner: taken from large blocks, so that also small matrices lie in large pages. (Where
/// the processor's address translation is itself translated, as in virtual machines, that doubles the speed of a stream.)
class Slabs {
 public:
  /// A copy of the bytes, valid as long as the slabs.
  AlignedBytes keep(const AlignedBytes& bytes);

 private:
  std::vector<AlignedBytes> blocks_;
  std::size_t used_ = 0;  // of the last block
};

class Arena {
 public:
  /// Room for `count` floats, valid until reset().
  float* floats(std::int64_t count);
  /// Gives everything back. If the pass needed several blocks, they become one.
  void reset();
  Mark mark() const { return {{blocks_.size(), used_}}; }
  /// Gives back what was handed out since the mark.
  void rewind(Mark mark);

 private:
  void count_blocks();

  std::vector<AlignedBytes> blocks_;
  std::size_t used_ = 0;  // of the last block
  std::size_t most_ = 0;  // bytes that all blocks ever had together
};

}  // namespace continuo::compute::cpu
