// The vectorised products with quantised weights; included after kernels_simd.h, once in each translation unit.

namespace continuo::compute::cpu {

namespace {

template <class Integers>
Floats to_floats(Integers x) {
  return __builtin_convertvector(__builtin_bit_cast(Ints, x), Floats);
}

// Weights are asked for before their turn: the processor's own foresight stops at the end of a small page and runs a few lines
// ahead. Few rows wait for memory alone and do best with the first cache's queue (with 8-bit weights and narrow vectors, without
// any help); more rows leave time to bring weights into the second cache long before. The distances are measured.
constexpr std::int64_t far = 12288, near = 4096;

/// Asks for what is due while block `at` of the matrix is worked on. Addresses beyond the matrix are another's, or are ignored.
template <int rows, QuantKind kind>
__attribute__((always_inline)) inline void fetch_ahead(const QuantGemm& task, std::int64_t at) {
  constexpr std::int64_t bytes = payload_bytes(kind), scale_bytes = kind == QuantKind::q4_min ? 128 : 32;
  constexpr bool is_q8 = kind == QuantKind::q8, from_afar = rows > (is_q8 ? 2 : 1);
  if constexpr (is_q8 && lanes < 16 && rows <= (CONTINUO_VNNI ? 2 : 1)) return;
  const std::byte* payload = task.payload + at * bytes;
  const auto* scales = reinterpret_cast<const std::byte*>(kind == QuantKind::q4_min ? static_cast<const void*>(task.scales_f32)
                                                                                    : static_cast<const void*>(task.scales)) +
                       (at + (from_afar ? far : near) / bytes) * scale_bytes;
  for (std::int64_t line = 0; line < bytes; line += 64) {
    if constexpr (from_afar) __builtin_prefetch(payload + far + line, 0, 2);
    __builtin_prefetch(payload + near + line, 0, 3);
  }
  for (std::int64_t line = 0; line < scale_bytes; line += 64) __builtin_prefetch(scales + line, 0, from_afar ? 2 : 3);
}

}  // namespace

}  // namespace continuo::compute::cpu

// The tiles: quant_tile<rows, kind>(task, row, panel), for up to quant_rows rows.
#if CONTINUO_LANES == 4
#include "compute/cpu/quant_tile_neon.h"
#elif CONTINUO_VNNI
#include "compute/cpu/quant_tile_vnni.h"
#else
#include "compute/cpu/quant_tile_avx2.h"
#endif

namespace continuo::compute::cpu {

namespace {

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
