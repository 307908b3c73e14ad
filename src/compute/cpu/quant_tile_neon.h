// The tiles of quant_simd.h for NEON. sdot multiplies signed bytes with signed bytes: 8-bit weights are stored as they are, and
// numbers from 0 to 15 are signed bytes, too. It takes the four activations of a group from any quarter of a register, so that
// two loads bring a row's whole block.

namespace continuo::compute::cpu {

namespace {

constexpr int quant_rows = 4;

/// Adds the products of two groups of four inputs, `group` of each half of the block; and so on to the last. (Left to itself, gcc
/// 12 calls it for 4-bit weights, and all registers pass through memory.)
template <int rows, int vectors, QuantKind kind, int group = 0>
__attribute__((always_inline)) inline void add_groups(const std::byte* payload, const int8x16_t (*values)[2],
                                                      int32x4_t (*products)[vectors]) {
  const auto* weights = reinterpret_cast<const std::uint8_t*>(payload) + group * 64;
  for (int v = 0; v < vectors; ++v) {
    int8x16_t first, second;
    if constexpr (kind == QuantKind::q8) {
      first = vreinterpretq_s8_u8(vld1q_u8(weights + v * 16));
      second = vreinterpretq_s8_u8(vld1q_u8(weights + 4 * 64 + v * 16));
    } else {
      const uint8x16_t both = vld1q_u8(weights + v * 16);
      first = vreinterpretq_s8_u8(vandq_u8(both, vdupq_n_u8(15)));
      second = vreinterpretq_s8_u8(vshrq_n_u8(both, 4));
    }
    for (int r = 0; r < rows; ++r) products[r][v] = vdotq_laneq_s32(products[r][v], first, values[r][0], group);
    for (int r = 0; r < rows; ++r) products[r][v] = vdotq_laneq_s32(products[r][v], second, values[r][1], group);
  }
  if constexpr (rows > 2) asm volatile("" ::: "memory");  // gcc 12 would load all weights first and spill twice as many sums
  if constexpr (group < 3) add_groups<rows, vectors, kind, group + 1>(payload, values, products);
}

/// `rows` rows by `vectors` vectors of a panel's channels, from vector `begin` on.
template <int rows, int vectors, QuantKind kind>
void quant_tile_vectors(const QuantGemm& task, std::int64_t row, std::int64_t panel, int begin, Floats (*out)[panel_vectors]) {
  Floats sums[rows][vectors];
  for (auto& of_row : sums) {
    for (Floats& sum : of_row) sum = all(0.0F);
  }
  const std::int64_t first = panel * task.blocks;
  const std::byte* payload = task.payload + first * payload_bytes(kind) + begin * 16;
  const std::uint16_t* scales = task.scales + first * panel_width + begin * lanes;
  const float* scales_f32 = task.scales_f32 + first * 2 * panel_width + begin * lanes;
  const auto* x = reinterpret_cast<const std::int8_t*>(task.x) + row * quant_block;
  const float* x_scales = task.x_scales + row;
  const std::int32_t* x_sums = task.x_sums + row;
  for (std::int64_t b = 0; b < task.blocks; ++b) {
    int8x16_t values[rows][2];
    int32x4_t products[rows][vectors];
    for (int r = 0; r < rows; ++r) {
      values[r][0] = vld1q_s8(x + r * quant_block);
      values[r][1] = vld1q_s8(x + r * quant_block + 16);
      for (int32x4_t& product : products[r]) product = vdupq_n_s32(kind == QuantKind::q4 ? x_sums[r] : 0);
    }
    add_groups<rows, vectors, kind>(payload, values, products);
    for (int v = 0; v < vectors; ++v) {
      if constexpr (kind == QuantKind::q4_min) {
        const Floats scale = load(scales_f32 + v * lanes), minimum = load(scales_f32 + panel_width + v * lanes);
        for (int r = 0; r < rows; ++r) {
          sums[r][v] += (to_floats(products[r][v]) * scale - minimum * static_cast<float>(x_sums[r])) * x_scales[r];
        }
      } else {
        const Floats scale = load_half(scales + v * lanes);
        for (int r = 0; r < rows; ++r) sums[r][v] += to_floats(products[r][v]) * (scale * x_scales[r]);
      }
    }
    payload += payload_bytes(kind);
    scales += panel_width;
    scales_f32 += 2 * panel_width;
    x += task.rows * quant_block;
    x_scales += task.rows;
    x_sums += task.rows;
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) out[r][begin + v] = sums[r][v];
  }
}

template <int rows, QuantKind kind>
void quant_tile(const QuantGemm& task, std::int64_t row, std::int64_t panel) {
  // 32 registers: a product and a sum for each row and vector, two registers of activations a row, two of weights.
  constexpr int vectors = rows <= 2 ? panel_vectors : panel_vectors / 2;
  Floats sums[rows][panel_vectors];
  for (int v = 0; v < panel_vectors; v += vectors) quant_tile_vectors<rows, vectors, kind>(task, row, panel, v, sums);
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < panel_vectors; ++v) finish(task, row + r, panel * panel_width + v * lanes, sums[r][v]);
  }
}

constexpr int q8_group = 4, q8_offset = 0, q8_bits = 8;

}  // namespace

}  // namespace continuo::compute::cpu
