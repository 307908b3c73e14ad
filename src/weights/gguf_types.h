// The numbers of the GGUF format: types of a key's value, and ggml's tensor types with their block sizes. The tensor table
// knows more types than we can run, so that a file of another family is walked to its end and refused for what it is.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>

#include "base/tensor.h"

namespace continuo::weights {

enum class GgufType : std::uint32_t {
  u8 = 0,
  i8,
  u16,
  i16,
  u32,
  i32,
  f32,
  boolean,
  string,
  array,
  u64,
  i64,
  f64,
};

std::optional<GgufType> gguf_type_from_number(std::uint32_t number);
std::string_view name_of(GgufType type);
/// Bytes of one value; 0 for strings and arrays, whose size stands in the file.
std::size_t size_of(GgufType type);

struct GgmlType {
  std::string_view name;
  BlockSize block;
};

/// nullopt for a number that ggml does not use (any more).
std::optional<GgmlType> ggml_type_from_number(std::uint32_t number);

}  // namespace continuo::weights
