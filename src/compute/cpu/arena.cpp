#include "compute/cpu/arena.h"

#if defined(__linux__)
#include <sys/mman.h>
#endif

#include <algorithm>
#include <new>

namespace continuo::compute::cpu {

namespace {
constexpr std::size_t alignment = 64;
constexpr std::size_t slab = std::size_t{64} << 20;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t smallest_block = std::size_t{1} << 20;
}  // namespace

AlignedBytes::AlignedBytes(std::size_t size) : size_(size) {
  const bool large = size >= 2 * huge_page;
  const std::align_val_t aligned{large ? huge_page : alignment};
  data_ = {static_cast<std::byte*>(::operator new(std::max<std::size_t>(size, 1), aligned)), FreeAligned{aligned, true}};
#if defined(__linux__)
  // Streams of weights, keys and values cross a small page every few hundred cycles; where the system allows it, large pages save
  // those look-ups. Only whole ones: the rest would be memory that nobody uses.
  if (large) madvise(data_.get(), size / huge_page * huge_page, MADV_HUGEPAGE);
#endif
}

AlignedBytes Slabs::keep(const AlignedBytes& bytes) {
  const std::size_t taken = (bytes.size() + alignment - 1) / alignment * alignment;
  if (blocks_.empty() || used_ + taken > blocks_.back().size()) {
    blocks_.emplace_back(std::max(taken, slab));
    used_ = 0;
  }
  std::byte* place = blocks_.back().data() + used_;
  std::copy(bytes.data(), bytes.data() + bytes.size(), place);
  used_ += taken;
  return {place, bytes.size()};
}

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

void Arena::rewind(Mark mark) {
  if (mark.place[0] == 0) return reset();
  count_blocks();
  blocks_.resize(mark.place[0]);
  used_ = mark.place[1];
}

void Arena::reset() {
  count_blocks();
  if (blocks_.size() > 1 || (!blocks_.empty() && blocks_[0].size() < most_)) {
    blocks_.clear();
    blocks_.emplace_back(most_);
  }
  used_ = 0;
}

void Arena::count_blocks() {
  std::size_t total = 0;
  for (const AlignedBytes& block : blocks_) total += block.size();
  most_ = std::max(most_, total);
}

}  // namespace continuo::compute::cpu
