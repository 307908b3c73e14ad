// ggml's block formats, as they lie in a file. Scales are f16, integers little endian.
//   q8_0: scale, 32 signed bytes                                value = scale * q
//   q4_0: scale, 16 bytes (low nibbles 0 to 15, high 16 to 31)  value = scale * (q - 8)
//   q4_k: scale, scale of the minimums, 12 bytes that pack a 6-bit scale and minimum for each of 8 sub-blocks of 32, 128 bytes
//         (each 32 hold sub-block 2 i in their low nibbles, 2 i + 1 in the high)   value = d sc q - dmin m
#pragma once

#include <cstddef>
#include <cstdint>

namespace continuo {

/// The 8 scales and minimums of a q4_k super-block, as floats.
struct Q4KScales {
  float scale[8];
  float minimum[8];
};
Q4KScales q4_k_scales(const std::byte* block);

/// The scale of a q8_0 or q4_0 block, as its f16 bits.
std::uint16_t block_scale_bits(const std::byte* block);

void expand_q8_0(const std::byte* block, float* values);  // 32
void expand_q4_0(const std::byte* block, float* values);  // 32
void expand_q4_k(const std::byte* block, float* values);  // 256

/// The raw 4-bit number (0 to 15) of element i of a q4_0 or q4_k block.
int q4_0_number(const std::byte* block, int i);
int q4_k_number(const std::byte* block, int i);

}  // namespace continuo
