#include "base/quant_blocks.h"

#include <cstring>

#include "base/half.h"

namespace continuo {

std::uint16_t block_scale_bits(const std::byte* block) {
  std::uint16_t bits;
  std::memcpy(&bits, block, 2);
  return bits;
}

Q4KScales q4_k_scales(const std::byte* block) {
  const float d = half_to_float(block_scale_bits(block)), dmin = half_to_float(block_scale_bits(block + 2));
  const auto byte = [&](int i) { return std::to_integer<unsigned>(block[4 + i]); };
  Q4KScales scales{};
  for (int j = 0; j < 8; ++j) {
    // The first four sub-blocks have their six bits in bytes j and j + 4; the last four take four bits from byte j + 4 and the
    // two bits that the first ones left over.
    const unsigned scale = j < 4 ? byte(j) & 63U : (byte(j + 4) & 15U) | (byte(j - 4) >> 6 << 4);
    const unsigned minimum = j < 4 ? byte(j + 4) & 63U : (byte(j + 4) >> 4) | (byte(j) >> 6 << 4);
    scales.scale[j] = d * static_cast<float>(scale);
    scales.minimum[j] = dmin * static_cast<float>(minimum);
  }
  return scales;
}

int q4_0_number(const std::byte* block, int i) {
  const auto byte = std::to_integer<int>(block[2 + i % 16]);
  return i < 16 ? byte & 15 : byte >> 4;
}

int q4_k_number(const std::byte* block, int i) {
  const auto byte = std::to_integer<int>(block[16 + i / 64 * 32 + i % 32]);
  return i % 64 < 32 ? byte & 15 : byte >> 4;
}

void expand_q8_0(const std::byte* block, float* values) {
  const float scale = half_to_float(block_scale_bits(block));
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(static_cast<std::int8_t>(block[2 + i]));
}

void expand_q4_0(const std::byte* block, float* values) {
  const float scale = half_to_float(block_scale_bits(block));
  for (int i = 0; i < 32; ++i) values[i] = scale * static_cast<float>(q4_0_number(block, i) - 8);
}

void expand_q4_k(const std::byte* block, float* values) {
  const Q4KScales scales = q4_k_scales(block);
  for (int i = 0; i < 256; ++i) {
    values[i] = scales.scale[i / 32] * static_cast<float>(q4_k_number(block, i)) - scales.minimum[i / 32];
  }
}

}  // namespace continuo
