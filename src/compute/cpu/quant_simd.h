// The vectorised products with quantised weights; included after kernels_simd.h, once in each translation unit.

namespace continuo::compute::cpu {

namespace {

void finish_lanes(const QuantGemm& task, std::int64_t row, std::int64_t panel, const Floats* sums) {
  for (int v = 0; v < panel_vectors; ++v) {
    const std::int64_t column = panel * panel_width + v * lanes;
    Floats value = sums[v];
    if (task.bias != nullptr) value += load(task.bias + column);
    value = apply(task.after, value);
    const float* residual = task.residual == nullptr ? nullptr : task.residual + row * task.residual_stride + column;
    float* y = task.y + row * task.y_stride + column;
    if (column + lanes <= task.n) {
      if (residual != nullptr) value += load(residual);
      store(y, value);
    } else {
      for (int lane = 0; lane < lanes && column + lane < task.n; ++lane)
        y[lane] = value[lane] + (residual == nullptr ? 0.0F : residual[lane]);
    }
  }
}

template <class Integers>
Floats to_floats(Integers x) {
  return __builtin_convertvector(__builtin_bit_cast(Ints, x), Floats);
}

}  // namespace

}  // namespace continuo::compute::cpu

#if CONTINUO_LANES == 4
#include "compute/cpu/quant_tile_neon.h"
#endif

namespace continuo::compute::cpu {

namespace {

#if CONTINUO_LANES == 4
// quant_tile_neon.h has the tiles.
#elif CONTINUO_VNNI

constexpr int quant_rows = CONTINUO_LANES == 16 ? 8 : 4;

/// `rows` rows by one vector of a panel's channels. vpdpbusd multiplies four unsigned weights with four signed activations and
/// adds them to each channel's integer sum, which starts at what the weights' offset costs.
template <int rows, QuantKind kind>
void quant_tile_vector(const QuantGemm& task, std::int64_t row, std::int64_t panel, int vector, Floats* sums) {
  for (int r = 0; r < rows; ++r) sums[r] = all(0.0F);
  const std::int64_t first = panel * task.blocks;
  const std::byte* payload = task.payload + first * payload_bytes(kind) + vector * lanes * 4;
  const std::uint16_t* scales = task.scales + first * panel_width + vector * lanes;
  const float* scales_f32 = task.scales_f32 + first * 2 * panel_width + vector * lanes;
  const std::byte* x = task.x + row * quant_block;
  const float* x_scales = task.x_scales + row;
  const std::int32_t* x_sums = task.x_sums + row;
  const Wide nibble = wide_all(0x0f0f0f0f);
  for (std::int64_t b = 0; b < task.blocks; ++b) {
    Wide product[rows];
    for (int r = 0; r < rows; ++r) product[r] = wide_all(kind == QuantKind::q4_min ? 0 : x_sums[r]);
    if constexpr (kind == QuantKind::q8) {
      for (int group = 0; group < 8; ++group) {
        const Wide w = wide_load(payload + group * 64);
        for (int r = 0; r < rows; ++r) multiply_four(product[r], w, x + r * quant_block + group * 4);
      }
    } else {
      for (int group = 0; group < 4; ++group) {
        const Wide both = wide_load(payload + group * 64);
        const Wide low = both & nibble;
        const Wide high = __builtin_bit_cast(Wide, __builtin_bit_cast(Ints, both) >> 4) & nibble;
        for (int r = 0; r < rows; ++r) multiply_four(product[r], low, x + r * quant_block + group * 4);
        for (int r = 0; r < rows; ++r) multiply_four(product[r], high, x + r * quant_block + group * 4 + 16);
      }
    }
    if constexpr (kind == QuantKind::q4_min) {
      const Floats scale = load(scales_f32), minimum = load(scales_f32 + panel_width);
      for (int r = 0; r < rows; ++r) {
        sums[r] += (to_floats(product[r]) * scale - minimum * static_cast<float>(x_sums[r])) * x_scales[r];
      }
      scales_f32 += 2 * panel_width;
    } else {
      const Floats scale = load_half(scales);
      for (int r = 0; r < rows; ++r) sums[r] += to_floats(product[r]) * (scale * x_scales[r]);
      scales += panel_width;
    }
    payload += payload_bytes(kind);
    x += task.rows * quant_block;
    x_scales += task.rows;
    x_sums += task.rows;
  }
}

template <int rows, QuantKind kind>
void quant_tile(const QuantGemm& task, std::int64_t row, std::int64_t panel) {
  Floats sums[panel_vectors][rows];
  for (int v = 0; v < panel_vectors; ++v) quant_tile_vector<rows, kind>(task, row, panel, v, sums[v]);
  for (int r = 0; r < rows; ++r) {
    Floats of_row[panel_vectors];
    for (int v = 0; v < panel_vectors; ++v) of_row[v] = sums[v][r];
    finish_lanes(task, row + r, panel, of_row);
  }
}

constexpr int q8_group = 4, q8_offset = 128, q8_bits = 8;

#else

constexpr int quant_rows = 4;

// Sums that the compiler must not put off: left alone, gcc 12 computes all products of a block first and spills them.
void add_now(__m256i& sum, __m256i term) {
  sum = _mm256_add_epi32(sum, term);
  asm("" : "+x"(sum));
}
void add_now_16(__m256i& sum, __m256i term) {
  sum = _mm256_add_epi16(sum, term);
  asm("" : "+x"(sum));
}

/// The integer products of one block: `rows` rows by both vectors of a panel, so that an activation once spread serves two.
/// 16-bit activations: pmaddwd multiplies pairs exactly; 32 products of 127 x 32767 stay far within 32 bits.
template <int rows>
void products_q8(const std::byte* payload, const std::byte* x, __m256i (*product)[2]) {
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
void products_q4(const std::byte* payload, const std::byte* x, __m256i (*product)[2]) {
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
  for (int r = 0; r < rows; ++r) finish_lanes(task, row + r, panel, sums[r]);
}

constexpr int q8_group = 2, q8_offset = 0, q8_bits = 16;

#endif

template <QuantKind kind>
void quant_rows_of(const QuantGemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                   std::int64_t panel_end) {
  // Panels outside, rows inside: a panel's weights are fetched once and serve all rows from the cache.
  for (std::int64_t panel = panel_begin; panel < panel_end; ++panel) {
    std::int64_t row = row_begin;
    for (; row_end - row >= quant_rows; row += quant_rows) quant_tile<quant_rows, kind>(task, row, panel);
    switch (row_end - row) {
#if CONTINUO_VNNI && CONTINUO_LANES == 16
      case 7: quant_tile<7, kind>(task, row, panel); break;
      case 6: quant_tile<6, kind>(task, row, panel); break;
      case 5: quant_tile<5, kind>(task, row, panel); break;
      case 4: quant_tile<4, kind>(task, row, panel); break;
#endif
      case 3: quant_tile<3, kind>(task, row, panel); break;
      case 2: quant_tile<2, kind>(task, row, panel); break;
      case 1: quant_tile<1, kind>(task, row, panel); break;
      default: break;
    }
  }
}

void quant_gemm(const QuantGemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
                std::int64_t panel_end) {
  switch (task.kind) {
    case QuantKind::q8: quant_rows_of<QuantKind::q8>(task, row_begin, row_end, panel_begin, panel_end); break;
    case QuantKind::q4: quant_rows_of<QuantKind::q4>(task, row_begin, row_end, panel_begin, panel_end); break;
    case QuantKind::q4_min: quant_rows_of<QuantKind::q4_min>(task, row_begin, row_end, panel_begin, panel_end); break;
    case QuantKind::none: break;
  }
}

void quantise(const float* x, std::int64_t blocks, std::int64_t rows, int bits, std::int32_t factor, std::byte* values,
              float* scales, std::int32_t* sums) {
  const float limit = bits == 8 ? 127.0F : 32767.0F;
  const Floats magic = all(12582912.0F);  // 1.5 x 2^23: adding it rounds to the nearest integer
  for (std::int64_t b = 0; b < blocks; ++b, x += quant_block) {
    Floats top = all(0.0F);
    for (int i = 0; i < quant_block; i += lanes) {
      const Floats value = load(x + i);
      const Floats magnitude = value < 0.0F ? -value : value;
      top = magnitude > top ? magnitude : top;
    }
    const float largest = largest_of(top);
    const float inverse = largest > 0.0F ? limit / largest : 0.0F;
    Floats total = all(0.0F);
    for (int i = 0; i < quant_block; i += lanes) {
      const Floats rounded = (load(x + i) * inverse + magic) - magic;
      total += rounded;
      if (bits == 8) {
        store_bytes(values + b * rows * quant_block + i, __builtin_convertvector(rounded, Ints));
      } else {
        using Words = std::int16_t __attribute__((vector_size(lanes * 2), aligned(2), may_alias));
        *reinterpret_cast<Words*>(values + (b * rows * quant_block + i) * 2) =
            __builtin_convertvector(__builtin_convertvector(rounded, Ints), Words);
      }
    }
    scales[b * rows] = largest / limit;
    sums[b * rows] = factor * static_cast<std::int32_t>(sum_of(total));  // at most 32 x 32767: exact in a float
  }
}

constexpr QuantKernels quant_table{q8_group, q8_offset, q8_bits, quant_gemm, quantise};

}  // namespace

}  // namespace continuo::compute::cpu
