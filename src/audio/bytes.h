// Little-endian numbers in byte buffers, for the file formats of this folder. x86 and ARM Linux are little endian themselves,
// and the formats are not aligned, so memcpy is all there is to it.
#pragma once

#include <bit>
#include <cstddef>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

namespace continuo::audio {

static_assert(std::endian::native == std::endian::little, "the file formats here are written for little-endian machines");

template <class T>
requires std::is_trivially_copyable_v<T>
void append(std::vector<std::byte>& out, T value) {
  const std::size_t size = out.size();
  out.resize(size + sizeof(T));
  std::memcpy(out.data() + size, &value, sizeof(T));
}

inline void append_text(std::vector<std::byte>& out, std::string_view text) {
  for (const char character : text) out.push_back(static_cast<std::byte>(character));
}

/// The caller has checked that offset + sizeof(T) is inside.
template <class T>
requires std::is_trivially_copyable_v<T> T read_at(std::span<const std::byte> bytes, std::size_t offset) {
  T value;
  std::memcpy(&value, bytes.data() + offset, sizeof(T));
  return value;
}

inline std::string_view text_at(std::span<const std::byte> bytes, std::size_t offset, std::size_t size) {
  return {reinterpret_cast<const char*>(bytes.data() + offset), size};
}

}  // namespace continuo::audio
