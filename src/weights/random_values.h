// Random tensors of any type, made about as fast as memory takes them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/tensor.h"

namespace continuo::weights {

struct Spread {
  float deviation;
  float mean;  // 0 for block types
};

/// The bytes of a tensor whose values are uniform with that mean and standard deviation (q4_k: a little more peaked). Block types
/// are made as blocks, with scales that are ordinary numbers, not by quantising values.
std::vector<std::byte> random_values(DType type, const Shape& shape, Spread spread, std::uint64_t seed);

/// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text);

}  // namespace continuo::weights
