// IEEE half precision and bfloat16, converted without special instructions. Kernels use the machine's own where it has them.
#pragma once

#include <bit>
#include <cstdint>

namespace continuo {

inline float bfloat_to_float(std::uint16_t bits) { return std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16); }

/// Exact for every half, subnormals, infinities and NaN included.
float half_to_float(std::uint16_t bits);

/// Rounds to nearest, ties to even; values beyond the range become infinite, as the F16C instruction does.
std::uint16_t float_to_half(float value);

/// Rounds to nearest, ties to even; NaN stays NaN.
std::uint16_t float_to_bfloat(float value);

}  // namespace continuo
