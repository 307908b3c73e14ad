// What a tensor in a file is: an element type, a shape, and bytes that somebody else owns (usually a memory map).
// Shapes are row-major, slowest dimension first: a linear layer's weight is [out, in]. (GGUF stores them the other way round.)
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace continuo {

/// The values are ggml's own type numbers, as they stand in a GGUF file.
enum class DType : std::uint32_t { f32 = 0, f16 = 1, q4_0 = 2, q8_0 = 8, q4_k = 12, bf16 = 30 };

/// Elements in a block, and the bytes of one block; a row holds a whole number of blocks.
struct BlockSize {
  std::int64_t elements;
  std::int64_t bytes;
};

BlockSize block_size(DType type);
std::string_view name_of(DType type);
/// nullopt for a number that is none of ours.
std::optional<DType> dtype_from_number(std::uint32_t number);
std::optional<DType> dtype_from_name(std::string_view name);

inline constexpr int max_dims = 4;

struct Shape {
  std::array<std::int64_t, max_dims> dims{};
  int rank = 0;

  Shape() = default;
  Shape(std::initializer_list<std::int64_t> sizes);

  std::int64_t operator[](int i) const { return dims[static_cast<std::size_t>(i)]; }
  bool operator==(const Shape& other) const = default;
  /// Product of the dimensions. The caller has checked that it fits (every parser does).
  std::int64_t elements() const;
  /// "[4, 1024]"
  std::string to_string() const;
};

struct TensorView {
  DType type = DType::f32;
  Shape shape;
  std::span<const std::byte> data;

  /// All values as float; data may be unaligned. `out` has shape.elements() places.
  void to_float(std::span<float> out) const;
  /// Row `index` of a matrix, as a tensor of its own.
  TensorView row(std::int64_t index) const;
};

/// Bytes of a tensor of this shape, or nullopt when a row is not a whole number of blocks or the size overflows.
std::optional<std::int64_t> tensor_bytes(DType type, const Shape& shape);

}  // namespace continuo
