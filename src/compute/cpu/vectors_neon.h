// ARM64's share of vectors_simd.h: NEON with the dot product instructions of ARMv8.2 (sdot, udot), 4 lanes.
#include <arm_neon.h>

namespace continuo::compute::cpu {

namespace {

Floats all(float x) { return __builtin_bit_cast(Floats, vdupq_n_f32(x)); }

// Every ARM64 converts halves; what ARMv8.2's fp16 extension adds is arithmetic in them, which nothing here wants.
Floats load_half(const std::uint16_t* p) { return __builtin_bit_cast(Floats, vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(p)))); }
std::uint16_t to_half(float x) { return vget_lane_u16(vreinterpret_u16_f16(vcvt_f16_f32(vdupq_n_f32(x))), 0); }

/// The lowest byte of each integer.
void store_bytes(std::byte* to, Ints v) {
  const uint16x4_t words = vmovn_u32(__builtin_bit_cast(uint32x4_t, v));
  const std::uint32_t four = vget_lane_u32(vreinterpret_u32_u8(vmovn_u16(vcombine_u16(words, words))), 0);
  __builtin_memcpy(to, &four, 4);
}

/// The lanes' sum, halves first: always in the same order.
float sum_of(Floats v) { return (v[0] + v[2]) + (v[1] + v[3]); }

float largest_of(Floats v) { return vmaxvq_f32(__builtin_bit_cast(float32x4_t, v)); }

// sdot and udot add four products of bytes to each 32-bit sum, both sides signed or both unsigned. (Signed with unsigned ones,
// usdot, are a later extension.) A query's bytes are signed, and the bytes of weights, of 0 to 32767, need to be unsigned; so
// keys lose their offset of 128 on the way, and values get one, by the same flip of the top bit.
using Wide = int32x4_t;
Wide wide_load(const std::byte* p) { return vreinterpretq_s32_u8(vld1q_u8(reinterpret_cast<const std::uint8_t*>(p))); }
Wide wide_all(std::int32_t x) { return vdupq_n_s32(x); }
Wide flip(Wide bytes) { return vreinterpretq_s32_u8(veorq_u8(vreinterpretq_u8_s32(bytes), vdupq_n_u8(0x80))); }

constexpr std::int32_t key_offset = 0;  // what a key, as loaded, is more than itself
Wide load_key(const std::byte* p) { return flip(wide_load(p)); }
Wide multiply_key(Wide sum, Wide key, Wide query) {
  return vdotq_s32(sum, vreinterpretq_s8_s32(key), vreinterpretq_s8_s32(query));
}
Wide load_value(const std::byte* p) { return flip(wide_load(p)); }
Wide multiply_value(Wide sum, Wide weights, Wide values) {
  return vreinterpretq_s32_u32(
      vdotq_u32(vreinterpretq_u32_s32(sum), vreinterpretq_u8_s32(weights), vreinterpretq_u8_s32(values)));
}
/// What values, as loaded, add to a page's mix: 128 for each unit of its weights, upper bytes and then lower ones (store_split).
Ints values_offset(const std::byte* weights) {
  std::uint32_t sums[2];
  for (int part = 0; part < 2; ++part) {
    uint32x4_t sum = vdupq_n_u32(0);
    for (int p = part * page_positions; p < (part + 1) * page_positions; p += 16)
      sum = vdotq_u32(sum, vld1q_u8(reinterpret_cast<const std::uint8_t*>(weights + p)), vdupq_n_u8(1));
    sums[part] = vaddvq_u32(sum);
  }
  return __builtin_bit_cast(Ints, vdupq_n_u32(128 * (256 * sums[0] + sums[1])));
}

}  // namespace

}  // namespace continuo::compute::cpu
