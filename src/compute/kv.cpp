#include "compute/kv.h"

#include <cassert>
#include <utility>

namespace continuo::compute {

std::int64_t kv_page_bytes(const KvShape& shape, KvType type) {
  // As in cpu/kv_layout.h: heads are padded to 16 numbers; int8 has a scale for each key and value.
  const std::int64_t numbers = std::int64_t{2} * page_positions * ((shape.head_width + 15) / 16 * 16);
  const std::int64_t scales = type == KvType::int8 ? 2 * page_positions * static_cast<std::int64_t>(sizeof(float)) : 0;
  const std::int64_t element = type == KvType::f32 ? 4 : type == KvType::f16 ? 2 : 1;
  return std::int64_t{shape.layers} * shape.heads * (numbers * element + scales);
}

KvSequence::KvSequence(KvPool* pool, std::vector<int> pages) : pool_(pool), pages_(std::move(pages)) {}

KvSequence::KvSequence(KvSequence&& other) noexcept
    : pool_(std::exchange(other.pool_, nullptr)), pages_(std::move(other.pages_)) {
  other.pages_.clear();
}

KvSequence& KvSequence::operator=(KvSequence&& other) noexcept {
  if (this != &other) {
    release();
    pool_ = std::exchange(other.pool_, nullptr);
    pages_ = std::move(other.pages_);
    other.pages_.clear();
  }
  return *this;
}

void KvSequence::take(KvSequence& other, int count) {
  assert(pool_ == other.pool_ && count >= 0 && count <= other.page_count());
  pages_.insert(pages_.end(), other.pages_.end() - count, other.pages_.end());
  other.pages_.resize(other.pages_.size() - static_cast<std::size_t>(count));
}

KvSequence::~KvSequence() { release(); }

void KvSequence::release() noexcept {
  if (pool_ != nullptr) {
    // The pool reserved room for all its pages, so this does not allocate.
    pool_->free_.insert(pool_->free_.end(), pages_.rbegin(), pages_.rend());
    pool_->dispose(pages_);
  }
  pages_.clear();
}

KvPool::KvPool(const KvShape& shape, int pages) : shape_(shape), pages_(pages) {
  free_.reserve(static_cast<std::size_t>(pages));
  for (int page = pages - 1; page >= 0; --page) free_.push_back(page);
}

std::optional<KvSequence> KvPool::reserve(int positions) {
  const int needed = pages_for(positions);
  if (needed > free_pages()) return std::nullopt;
  // Last in, first out, but the pages ascend where they can: a sequence is then read as one stretch of memory.
  std::vector<int> pages(free_.rbegin(), free_.rbegin() + needed);
  free_.resize(free_.size() - static_cast<std::size_t>(needed));
  prepare(pages);
  return KvSequence(this, std::move(pages));
}

}  // namespace continuo::compute
