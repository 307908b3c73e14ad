// Reads little-endian numbers and byte ranges off the front of a buffer, never past its end.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <type_traits>

namespace continuo::weights {

static_assert(std::endian::native == std::endian::little, "model files are read in place; big-endian machines need swapping");

class ByteCursor {
 public:
  explicit ByteCursor(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::size_t position() const { return position_; }
  std::size_t remaining() const { return bytes_.size() - position_; }

  template <class T>
  std::optional<T> number() {
    static_assert(std::is_arithmetic_v<T>);
    if (remaining() < sizeof(T)) return std::nullopt;
    T value;
    std::memcpy(&value, bytes_.data() + position_, sizeof(T));
    position_ += sizeof(T);
    return value;
  }

  std::optional<std::span<const std::byte>> take(std::uint64_t count) {
    if (count > remaining()) return std::nullopt;
    const auto range = bytes_.subspan(position_, static_cast<std::size_t>(count));
    position_ += range.size();
    return range;
  }

 private:
  std::span<const std::byte> bytes_;
  std::size_t position_ = 0;
};

}  // namespace continuo::weights
