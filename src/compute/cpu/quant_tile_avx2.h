// The tiles of quant_simd.h for AVX2.

namespace continuo::compute::cpu {

namespace {

constexpr int quant_rows = 4;

// Sums that the compiler must not put off: left alone, gcc 12 computes all products of a block first and spills them.
__attribute__((always_inline)) inline void add_now(__m256i& sum, __m256i term) {
  sum = _mm256_add_epi32(sum, term);
  asm("" : "+x"(sum));
}
__attribute__((always_inline)) inline void add_now_16(__m256i& sum, __m256i term) {
  sum = _mm256_add_epi16(sum, term);
  asm("" : "+x"(sum));
}

/// The integer products of one block: `rows` rows by both vectors of a panel, so that an activation once spread serves two.
/// 16-bit activations: pmaddwd multiplies pairs exactly; 32 products of 127 x 32767 stay far within 32 bits.
template <int rows>
__attribute__((always_inline)) inline void products_q8(const std::byte* payload, const std::byte* x, __m256i (*product)[2]) {
  for (int r = 0; r < rows; ++r) product[r][0] = product[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 16
  for (int pair = 0; pair < 16; ++pair) {
    const __m256i w0 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(payload + pair * 32)));
    const __m256i w1 = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(payload + pair * 32 + 16)));
    for (int r = 0; r < rows; ++r) {
      const __m256i values = _mm256_set1_epi32(four_bytes(x + (r * quant_block + pair * 2) * 2));
      add_now(product[r][0], _mm256_madd_epi16(w0, values));
      add_now(product[r][1], _mm256_madd_epi16(w1, values));
    }
  }
}

/// The same for 4-bit weights and 8-bit activations. maddubs adds pairs of unsigned weights times signed activations in 16 bits;
/// a block's eight of them stay within range: 8 x 2 x 15 x 127 = 30,480.
template <int rows>
__attribute__((always_inline)) inline void products_q4(const std::byte* payload, const std::byte* x, __m256i (*product)[2]) {
  const __m256i nibble = _mm256_set1_epi8(15), ones = _mm256_set1_epi16(1);
  __m256i narrow[rows][2];
  for (int r = 0; r < rows; ++r) narrow[r][0] = narrow[r][1] = _mm256_setzero_si256();
#pragma GCC unroll 4
  for (int group = 0; group < 4; ++group) {
    const __m256i both0 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(payload + group * 64));
    const __m256i both1 = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(payload + group * 64 + 32));
    const __m256i low0 = _mm256_and_si256(both0, nibble), low1 = _mm256_and_si256(both1, nibble);
    for (int r = 0; r < rows; ++r) {
      const __m256i values = _mm256_set1_epi32(four_bytes(x + r * quant_block + group * 4));
      add_now_16(narrow[r][0], _mm256_maddubs_epi16(low0, values));
      add_now_16(narrow[r][1], _mm256_maddubs_epi16(low1, values));
    }
    const __m256i high0 = _mm256_and_si256(_mm256_srli_epi16(both0, 4), nibble);
    const __m256i high1 = _mm256_and_si256(_mm256_srli_epi16(both1, 4), nibble);
    for (int r = 0; r < rows; ++r) {
      const __m256i values = _mm256_set1_epi32(four_bytes(x + r * quant_block + group * 4 + 16));
      add_now_16(narrow[r][0], _mm256_maddubs_epi16(high0, values));
      add_now_16(narrow[r][1], _mm256_maddubs_epi16(high1, values));
    }
  }
  for (int r = 0; r < rows; ++r) {
    product[r][0] = _mm256_madd_epi16(narrow[r][0], ones);
    product[r][1] = _mm256_madd_epi16(narrow[r][1], ones);
  }
}

template <int rows, QuantKind kind>
void quant_tile(const QuantGemm& task, std::int64_t row, std::int64_t panel) {
  Floats sums[rows][2];
  for (auto& sum : sums) sum[0] = sum[1] = all(0.0F);
  const std::int64_t first = panel * task.blocks;
  const std::byte* payload = task.payload + first * payload_bytes(kind);
  const std::uint16_t* scales = task.scales + first * panel_width;
  const float* scales_f32 = task.scales_f32 + first * 2 * panel_width;
  const std::int64_t x_bytes = quant_block * (kind == QuantKind::q8 ? 2 : 1);
  const std::byte* x = task.x + row * x_bytes;
  const float* x_scales = task.x_scales + row;
  const std::int32_t* x_sums = task.x_sums + row;
  for (std::int64_t b = 0; b < task.blocks; ++b) {
    fetch_ahead<rows, kind>(task, first + b);
    __m256i product[rows][2];
    if constexpr (kind == QuantKind::q8) {
      products_q8<rows>(payload, x, product);
    } else {
      products_q4<rows>(payload, x, product);
    }
    if constexpr (kind == QuantKind::q4_min) {
      for (int v = 0; v < 2; ++v) {
        const Floats scale = load(scales_f32 + v * lanes), minimum = load(scales_f32 + panel_width + v * lanes);
        for (int r = 0; r < rows; ++r) {
          sums[r][v] += (to_floats(product[r][v]) * scale - minimum * static_cast<float>(x_sums[r])) * x_scales[r];
        }
      }
      scales_f32 += 2 * panel_width;
    } else {
      const Floats scale[2] = {load_half(scales), load_half(scales + lanes)};
      for (int r = 0; r < rows; ++r) {
        for (int v = 0; v < 2; ++v) {
          __m256i whole = product[r][v];
          if constexpr (kind == QuantKind::q4) whole = _mm256_add_epi32(whole, _mm256_set1_epi32(x_sums[r]));
          sums[r][v] += to_floats(whole) * (scale[v] * x_scales[r]);
        }
      }
      scales += panel_width;
    }
    payload += payload_bytes(kind);
    x += task.rows * x_bytes;
    x_scales += task.rows;
    x_sums += task.rows;
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < 2; ++v) finish(task, row + r, panel * panel_width + v * lanes, sums[r][v]);
  }
}

constexpr int q8_group = 2, q8_offset = 0, q8_bits = 16;

}  // namespace

}  // namespace continuo::compute::cpu
