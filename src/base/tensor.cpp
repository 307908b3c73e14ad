#include "base/tensor.h"

#include <cassert>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "base/quant_blocks.h"

namespace continuo {

BlockSize block_size(DType type) {
  switch (type) {
    case DType::f32: return {1, 4};
    case DType::f16:
    case DType::bf16: return {1, 2};
    case DType::q4_0: return {32, 18};
    case DType::q8_0: return {32, 34};
    case DType::q4_k: return {256, 144};
  }
  return {1, 0};
}

std::string_view name_of(DType type) {
  switch (type) {
    case DType::f32: return "f32";
    case DType::f16: return "f16";
    case DType::bf16: return "bf16";
    case DType::q4_0: return "q4_0";
    case DType::q8_0: return "q8_0";
    case DType::q4_k: return "q4_k";
  }
  return "unknown";
}

namespace {
constexpr DType all_types[] = {DType::f32, DType::f16, DType::q4_0, DType::q8_0, DType::q4_k, DType::bf16};
}

std::optional<DType> dtype_from_number(std::uint32_t number) {
  for (DType type : all_types) {
    if (static_cast<std::uint32_t>(type) == number) return type;
  }
  return std::nullopt;
}

std::optional<DType> dtype_from_name(std::string_view name) {
  for (DType type : all_types) {
    if (name_of(type) == name) return type;
  }
  return std::nullopt;
}

Shape::Shape(std::initializer_list<std::int64_t> sizes) {
  assert(sizes.size() <= max_dims);
  for (std::int64_t size : sizes) dims[static_cast<std::size_t>(rank++)] = size;
}

std::int64_t Shape::elements() const {
  std::int64_t product = 1;
  for (int i = 0; i < rank; ++i) product *= (*this)[i];
  return product;
}

std::string Shape::to_string() const {
  std::string text = "[";
  for (int i = 0; i < rank; ++i) {
    if (i > 0) text += ", ";
    text += std::to_string((*this)[i]);
  }
  return text + "]";
}

void TensorView::to_float(std::span<float> out) const {
  const auto count = static_cast<std::size_t>(shape.elements());
  assert(out.size() == count);
  switch (type) {
    case DType::f32: std::memcpy(out.data(), data.data(), count * sizeof(float)); return;
    case DType::f16:
    case DType::bf16:
      for (std::size_t i = 0; i < count; ++i) {
        std::uint16_t bits;
        std::memcpy(&bits, data.data() + i * 2, 2);
        out[i] = type == DType::f16 ? half_to_float(bits) : bfloat_to_float(bits);
      }
      return;
    case DType::q8_0:
    case DType::q4_0:
    case DType::q4_k: {
      const BlockSize block = block_size(type);
      const auto elements = static_cast<std::size_t>(block.elements);
      for (std::size_t i = 0; i * elements < count; ++i) {
        const std::byte* bytes = data.data() + static_cast<std::ptrdiff_t>(i) * block.bytes;
        float* values = out.data() + i * elements;
        if (type == DType::q8_0) {
          expand_q8_0(bytes, values);
        } else if (type == DType::q4_0) {
          expand_q4_0(bytes, values);
        } else {
          expand_q4_k(bytes, values);
        }
      }
      return;
    }
  }
}

TensorView TensorView::row(std::int64_t index) const {
  assert(shape.rank == 2 && index >= 0 && index < shape[0]);
  const std::int64_t bytes = *tensor_bytes(type, Shape{shape[1]});
  return {type, Shape{shape[1]}, data.subspan(static_cast<std::size_t>(index * bytes), static_cast<std::size_t>(bytes))};
}

std::optional<std::int64_t> tensor_bytes(DType type, const Shape& shape) {
  const BlockSize block = block_size(type);
  std::int64_t units = 1;
  for (int i = 0; i < shape.rank; ++i) {
    std::int64_t size = shape[i];
    if (size <= 0) return std::nullopt;
    if (i == shape.rank - 1) {
      if (size % block.elements != 0) return std::nullopt;
      size /= block.elements;
    }
    if (units > std::numeric_limits<std::int64_t>::max() / size) return std::nullopt;
    units *= size;
  }
  if (units > std::numeric_limits<std::int64_t>::max() / block.bytes) return std::nullopt;
  return units * block.bytes;
}

}  // namespace continuo
