// Keys and values of running sequences live in pages of fixed size, handed out from one pool. A sequence's length is known
// when it is admitted, so its pages are reserved at once and nothing is ever evicted; they return to the pool with the
// sequence. The pool keeps the accounts; the bytes belong to the executor that made it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace continuo::compute {

/// Positions a page holds, for all layers and heads.
inline constexpr int page_positions = 32;

/// Pages that get their memory together.
inline constexpr int pages_a_block = 16;

/// How keys and values are kept. int8 has a scale for each head and position.
enum class KvType { f32, f16, int8 };

struct KvShape {
  int layers = 0;
  int heads = 0;
  int head_width = 0;
};

/// Bytes of a page of an executor on this machine's memory, scales and padding included.
std::int64_t kv_page_bytes(const KvShape& shape, KvType type);

class KvPool;

/// The pages of one sequence: position p is in page pages()[p / page_positions]. Movable; gives its pages back when it ends.
class KvSequence {
 public:
  KvSequence() = default;
  KvSequence(KvPool* pool, std::vector<int> pages);
  KvSequence(KvSequence&& other) noexcept;
  KvSequence& operator=(KvSequence&& other) noexcept;
  ~KvSequence();

  const std::vector<int>& pages() const { return pages_; }
  int page_count() const { return static_cast<int>(pages_.size()); }
  /// Takes over the last `count` pages of another sequence of the same pool, to its own end.
  void take(KvSequence& other, int count);
  int capacity() const { return static_cast<int>(pages_.size()) * page_positions; }

 private:
  void release() noexcept;
  KvPool* pool_ = nullptr;
  std::vector<int> pages_;
};

class KvPool {
 public:
  KvPool(const KvShape& shape, int pages);
  virtual ~KvPool() = default;

  /// Room for `positions` positions, or nullopt if too few pages are free.
  std::optional<KvSequence> reserve(int positions);
  int pages() const { return pages_; }
  int free_pages() const { return static_cast<int>(free_.size()); }
  const KvShape& shape() const { return shape_; }
  virtual std::int64_t bytes() const = 0;
  /// Random keys and values in all pages that have an owner, so that a benchmark can start at any position.
  virtual void fill_random(std::uint64_t seed) = 0;

  static int pages_for(int positions) { return (positions + page_positions - 1) / page_positions; }

 protected:
  /// Pages that get an owner, and lose it.
  virtual void prepare(std::span<const int>) {}
  virtual void dispose(std::span<const int>) {}

 private:
  friend class KvSequence;
  KvShape shape_;
  int pages_;
  std::vector<int> free_;
};

/// Keys and values of one prompt, for all layers; made and filled by an executor.
class CrossKv {
 public:
  virtual ~CrossKv() = default;
  virtual std::int64_t bytes() const = 0;
  /// All there is of it, to be kept and put back into one of the same shape, type and number of tokens; what the bytes mean
  /// depends on the executor (Executor::cross_layout).
  virtual std::span<std::byte> data() = 0;
  virtual std::span<const std::byte> data() const = 0;
};

}  // namespace continuo::compute
