// The tiles of quant_simd.h for x86-64 with vpdpbusd.

namespace continuo::compute::cpu {

namespace {

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
    if (vector == 0) fetch_ahead<rows, kind>(task, first + b);
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
    for (int v = 0; v < panel_vectors; ++v) finish(task, row + r, panel * panel_width + v * lanes, sums[v][r]);
  }
}

constexpr int q8_group = 4, q8_offset = 128, q8_bits = 8;

}  // namespace

}  // namespace continuo::compute::cpu
