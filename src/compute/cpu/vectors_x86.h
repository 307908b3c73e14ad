// x86-64's share of vectors_simd.h: AVX2 with FMA and F16C for 8 lanes, AVX-512 for 16.
#include <immintrin.h>

namespace continuo::compute::cpu {

namespace {

using FourBytes = std::int32_t __attribute__((aligned(1), may_alias));

/// Not Floats{} + x: the compiler must keep that addition (it turns -0 into 0), one in every product's inner loop.
Floats all(float x) {
#if CONTINUO_LANES == 16
  return static_cast<Floats>(_mm512_set1_ps(x));
#else
  return static_cast<Floats>(_mm256_set1_ps(x));
#endif
}

Floats load_half(const std::uint16_t* p) {
#if CONTINUO_LANES == 16
  return static_cast<Floats>(_mm512_maskz_cvtph_ps(0xFFFF, _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p))));
#else
  return static_cast<Floats>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))));
#endif
}

std::uint16_t to_half(float x) { return static_cast<std::uint16_t>(_cvtss_sh(x, 0)); }

/// The lowest byte of each integer. (gcc 12 takes __builtin_convertvector apart into single bytes here.)
void store_bytes(std::byte* to, Ints v) {
#if CONTINUO_LANES == 16
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm512_maskz_cvtepi32_epi8(0xFFFF, __builtin_bit_cast(__m512i, v)));
#else
  const auto bytes = _mm256_and_si256(__builtin_bit_cast(__m256i, v), _mm256_set1_epi32(255));
  const __m128i words = _mm_packus_epi32(_mm256_castsi256_si128(bytes), _mm256_extracti128_si256(bytes, 1));
  _mm_storel_epi64(reinterpret_cast<__m128i*>(to), _mm_packus_epi16(words, words));
#endif
}

/// The lanes' sum, halves first: always in the same order.
float sum_of(Floats v) {
#if CONTINUO_LANES == 16
  using Half = float __attribute__((vector_size(32)));
  const Half upper = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto half = static_cast<__m256>(__builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7) + upper);
#else
  const auto half = static_cast<__m256>(v);
#endif
  __m128 sum = _mm_add_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  sum = _mm_add_ps(sum, _mm_movehl_ps(sum, sum));
  return _mm_cvtss_f32(_mm_add_ss(sum, _mm_movehdup_ps(sum)));
}

float largest_of(Floats v) {
#if CONTINUO_LANES == 16
  using Half = float __attribute__((vector_size(32)));
  const Half lower = __builtin_shufflevector(v, v, 0, 1, 2, 3, 4, 5, 6, 7);
  const Half upper = __builtin_shufflevector(v, v, 8, 9, 10, 11, 12, 13, 14, 15);
  const auto half = static_cast<__m256>(lower > upper ? lower : upper);
#else
  const auto half = static_cast<__m256>(v);
#endif
  __m128 top = _mm_max_ps(_mm256_castps256_ps128(half), _mm256_extractf128_ps(half, 1));
  top = _mm_max_ps(top, _mm_movehl_ps(top, top));
  return _mm_cvtss_f32(_mm_max_ss(top, _mm_movehdup_ps(top)));
}

#if CONTINUO_VNNI
// vpdpbusd: to each 32-bit sum are added four products of unsigned with signed bytes.
#if CONTINUO_LANES == 16
using Wide = __m512i;
Wide wide_load(const std::byte* p) { return _mm512_loadu_si512(p); }
Wide wide_all(std::int32_t x) { return _mm512_set1_epi32(x); }
Wide multiply_bytes(Wide sum, Wide unsigned_bytes, Wide signed_bytes) {
  return _mm512_dpbusd_epi32(sum, unsigned_bytes, signed_bytes);
}
#else
using Wide = __m256i;
Wide wide_load(const std::byte* p) { return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)); }
Wide wide_all(std::int32_t x) { return _mm256_set1_epi32(x); }
Wide multiply_bytes(Wide sum, Wide unsigned_bytes, Wide signed_bytes) {
#if defined(__AVXVNNI__)
  return _mm256_dpbusd_avx_epi32(sum, unsigned_bytes, signed_bytes);
#else
  return _mm256_dpbusd_epi32(sum, unsigned_bytes, signed_bytes);
#endif
}
#endif

/// The signed bytes are the same four for all sums. The instruction can take them from memory itself, which the compiler does
/// not find; an instruction hidden from AddressSanitizer would hide its reading, too.
void multiply_four(Wide& sum, Wide unsigned_bytes, const std::byte* four) {
#if CONTINUO_LANES == 16 && !defined(__SANITIZE_ADDRESS__)
  asm("vpdpbusd %[four]%{1to16%}, %[bytes], %[sum]"
      : [sum] "+v"(sum)
      : [bytes] "v"(unsigned_bytes), [four] "m"(*reinterpret_cast<const FourBytes*>(four)));
#else
  sum = multiply_bytes(sum, unsigned_bytes, wide_all(four_bytes(four)));
#endif
}

// Attention's products: keys, stored as q + 128, are the unsigned side with the query's bytes; values the signed side with the
// weights' bytes.
constexpr std::int32_t key_offset = 128;  // what a key, as loaded, is more than itself
Wide load_key(const std::byte* p) { return wide_load(p); }
Wide multiply_key(Wide sum, Wide key, Wide query) { return multiply_bytes(sum, key, query); }
Wide load_value(const std::byte* p) { return wide_load(p); }
Wide multiply_value(Wide sum, Wide weights, Wide values) { return multiply_bytes(sum, weights, values); }
Ints values_offset(const std::byte*) { return Ints{}; }  // what values, as loaded, add to a page's mix
#endif

}  // namespace

}  // namespace continuo::compute::cpu
