#include "compute/cpu/arena.h"

#include <algorithm>
#include <new>

namespace continuo::compute::cpu {

namespace {
constexpr std::align_val_t alignment{64};
constexpr std::size_t smallest_block = std::size_t{1} << 20;
}  // namespace

AlignedBytes::AlignedBytes(std::size_t size)
    : data_(static_cast<std::byte*>(::operator new(std::max<std::size_t>(size, 1), alignment))), size_(size) {}

void AlignedBytes::Free::operator()(std::byte* p) const { ::operator delete(p, alignment); }

float* Arena::floats(std::int64_t count) {
  const std::size_t bytes = (static_cast<std::size_t>(count) * sizeof(float) + 63) / 64 * 64;
  if (blocks_.empty() || used_ + bytes > blocks_.back().size()) {
    blocks_.emplace_back(std::max({bytes, smallest_block, blocks_.empty() ? 0 : blocks_.back().size()}));
    used_ = 0;
  }
  float* result = reinterpret_cast<float*>(blocks_.back().data() + used_);
  used_ += bytes;
  return result;
}

void Arena::reset() {
  if (blocks_.size() > 1) {
    std::size_t total = 0;
    for (const AlignedBytes& block : blocks_) total += block.size();
    blocks_.clear();
    blocks_.emplace_back(total);
  }
  used_ = 0;
}

}  // namespace continuo::compute::cpu
