// The codec's vectorised loops; included after kernels_simd.h, once in each translation unit.

namespace continuo::compute::cpu {

namespace {

/// A tile of `rows` windows by `panels` panels, all sums in registers, each running over k in order.
template <int rows, int panels, bool half>
void conv_tile(const ConvTask& task, std::int64_t row, std::int64_t panel) {
  constexpr int vectors = panels * panel_vectors;
  Floats sums[rows][vectors];
  for (auto& of_row : sums) {
    for (Floats& sum : of_row) sum = all(0.0F);
  }
  const std::int64_t panel_bytes = task.taps * task.tap_length * panel_width * (half ? 2 : 4);
  const std::byte* weights = static_cast<const std::byte*>(task.panels) + panel * panel_bytes;
  const float* x = task.x + row * task.x_stride;
  for (std::int64_t tap = 0; tap < task.taps; ++tap, x += task.tap_stride) {
    for (std::int64_t i = 0; i < task.tap_length; ++i, weights += panel_width * (half ? 2 : 4)) {
      Floats w[vectors];
      for (int v = 0; v < vectors; ++v) {
        w[v] = load_any<half>(weights + (v / panel_vectors) * panel_bytes, (v % panel_vectors) * lanes);
      }
      for (int r = 0; r < rows; ++r) {
        const Floats value = all(x[r * task.x_stride + i]);
        for (int v = 0; v < vectors; ++v) sums[r][v] += value * w[v];
      }
    }
  }
  for (int r = 0; r < rows; ++r) {
    for (int v = 0; v < vectors; ++v) finish(task, row + r, panel * panel_width + v * lanes, sums[r][v]);
  }
}

template <int rows, int panels, bool half>
void conv_strip(const ConvTask& task, std::int64_t row, std::int64_t panel, std::int64_t panel_end) {
  for (; panel + panels <= panel_end; panel += panels) conv_tile<rows, panels, half>(task, row, panel);
  if constexpr (panels > 1) conv_strip<rows, (panels + 1) / 2, half>(task, row, panel, panel_end);
}

#if CONTINUO_LANES == 16
// 32 registers: up to 24 sums, `conv_group` vectors of weights and a value.
constexpr std::int64_t conv_rows = 12, conv_group = 2;
#else
// Six rows of one panel: 12 sums in 16 registers on AVX2, 24 in 32 on NEON.
constexpr std::int64_t conv_rows = 6, conv_group = 1;
#endif

template <bool half>
void conv_some(const ConvTask& task, std::int64_t rows, std::int64_t row, std::int64_t panel, std::int64_t panel_end) {
#if CONTINUO_LANES == 16
  switch (rows) {
    case 1: return conv_strip<1, 8, half>(task, row, panel, panel_end);
    case 2: return conv_strip<2, 8, half>(task, row, panel, panel_end);
    case 3: return conv_strip<3, 4, half>(task, row, panel, panel_end);
    case 4: return conv_strip<4, 4, half>(task, row, panel, panel_end);
    case 5: return conv_strip<5, 4, half>(task, row, panel, panel_end);
    case 6: return conv_strip<6, 4, half>(task, row, panel, panel_end);
    case 7: return conv_strip<7, 2, half>(task, row, panel, panel_end);
    case 8: return conv_strip<8, 2, half>(task, row, panel, panel_end);
    case 9: return conv_strip<9, 2, half>(task, row, panel, panel_end);
    case 10: return conv_strip<10, 2, half>(task, row, panel, panel_end);
    case 11: return conv_strip<11, 2, half>(task, row, panel, panel_end);
    default: return conv_strip<12, 2, half>(task, row, panel, panel_end);
  }
#else
  switch (rows) {
    case 1: return conv_strip<1, 4, half>(task, row, panel, panel_end);
    case 2: return conv_strip<2, 2, half>(task, row, panel, panel_end);
    case 3: return conv_strip<3, 1, half>(task, row, panel, panel_end);
    case 4: return conv_strip<4, 1, half>(task, row, panel, panel_end);
    case 5: return conv_strip<5, 1, half>(task, row, panel, panel_end);
    default: return conv_strip<6, 1, half>(task, row, panel, panel_end);
  }
#endif
}

/// Rows are cut into tiles of nearly equal height, since low tiles waste the multiplier. Tiles walk the rows inside a group of
/// panels, so that the group's weights stay in the cache; few rows go through all panels at once.
template <bool half>
void conv_all(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
              std::int64_t panel_end) {
  const std::int64_t rows = row_end - row_begin, tiles = (rows + conv_rows - 1) / conv_rows;
  const std::int64_t group = tiles == 1 ? panel_end - panel_begin : conv_group;
  for (std::int64_t panel = panel_begin; panel < panel_end; panel += group) {
    const std::int64_t end = panel + group < panel_end ? panel + group : panel_end;
    for (std::int64_t tile = 0; tile < tiles; ++tile) {
      const std::int64_t first = rows * tile / tiles, last = rows * (tile + 1) / tiles;
      conv_some<half>(task, last - first, row_begin + first, panel, end);
    }
  }
}

void conv(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end) {
  if (task.half) {
    conv_all<true>(task, row_begin, row_end, panel_begin, panel_end);
  } else {
    conv_all<false>(task, row_begin, row_end, panel_begin, panel_end);
  }
}

template <int rows>
void dot_rows(const ConvTask& task, std::int64_t row) {
  Floats sums[rows];
  float rest[rows];
  for (int r = 0; r < rows; ++r) {
    sums[r] = all(0.0F);
    rest[r] = 0.0F;
  }
  const auto* weights = static_cast<const float*>(task.panels);
  const float* x = task.x + row * task.x_stride;
  const std::int64_t whole = task.tap_length / lanes * lanes;
  for (std::int64_t tap = 0; tap < task.taps; ++tap, x += task.tap_stride, weights += task.tap_length) {
    for (std::int64_t i = 0; i < whole; i += lanes) {
      const Floats w = load(weights + i);
      for (int r = 0; r < rows; ++r) sums[r] += load(x + r * task.x_stride + i) * w;
    }
    for (std::int64_t i = whole; i < task.tap_length; ++i) {
      for (int r = 0; r < rows; ++r) rest[r] = __builtin_fmaf(x[r * task.x_stride + i], weights[i], rest[r]);
    }
  }
  for (int r = 0; r < rows; ++r) {
    float value = sum_of(sums[r]) + rest[r];
    if (task.bias != nullptr) value += task.bias[0];
    value = apply(task.after, all(value))[0];
    if (task.residual != nullptr) value += task.residual[(row + r) * task.residual_stride];
    task.y[(row + r) * task.y_stride] = value;
  }
}

void conv_to_one(const ConvTask& task, std::int64_t row_begin, std::int64_t row_end) {
  std::int64_t row = row_begin;
  for (; row + 8 <= row_end; row += 8) dot_rows<8>(task, row);
  for (; row < row_end; ++row) dot_rows<1>(task, row);
}

template <bool half>
void lstm_block(const LstmTask& task, std::int64_t block) {
  constexpr int vectors = 4 * lstm_units / lanes, of_gate = vectors / 4;
  constexpr std::int64_t step = 4 * lstm_units * (half ? 2 : 4);
  Floats sums[vectors];
  for (Floats& sum : sums) sum = all(0.0F);
  const std::byte* weights = static_cast<const std::byte*>(task.blocks) + block * task.width * step;
  for (std::int64_t k = 0; k < task.width; ++k, weights += step) {
    // All of a layer's weights pass once a frame, from the outer caches.
    for (std::int64_t line = 0; line < step; line += 64) __builtin_prefetch(weights + 16 * step + line);
    const Floats value = all(task.hidden[k]);
    for (int v = 0; v < vectors; ++v) sums[v] += value * load_any<half>(weights, v * lanes);
  }
  const std::int64_t width = task.width;
  for (int v = 0; v < of_gate; ++v) {
    const std::int64_t first = block * lstm_units + v * lanes;
    const std::int64_t count = width - first < lanes ? width - first : lanes;
    if (count <= 0) return;
    Floats gates[4], cell;
    if (count == lanes) {
      for (int g = 0; g < 4; ++g) gates[g] = sums[g * of_gate + v] + load(task.inputs + g * width + first);
      cell = load(task.cell + first);
    } else {
      cell = all(0.0F);
      for (int g = 0; g < 4; ++g) gates[g] = sums[g * of_gate + v];
      for (std::int64_t lane = 0; lane < count; ++lane) {
        for (int g = 0; g < 4; ++g) gates[g][lane] += task.inputs[g * width + first + lane];
        cell[lane] = task.cell[first + lane];
      }
    }
    cell = sigmoid(gates[1]) * cell + sigmoid(gates[0]) * hyperbolic_tangent(gates[2]);
    const Floats hidden = sigmoid(gates[3]) * hyperbolic_tangent(cell);
    if (count == lanes) {
      store(task.cell + first, cell);
      store(task.out + first, hidden);
    } else {
      for (std::int64_t lane = 0; lane < count; ++lane) {
        task.cell[first + lane] = cell[lane];
        task.out[first + lane] = hidden[lane];
      }
    }
  }
}

void lstm(const LstmTask& task, std::int64_t block_begin, std::int64_t block_end) {
  for (std::int64_t block = block_begin; block < block_end; ++block) {
    if (task.half) {
      lstm_block<true>(task, block);
    } else {
      lstm_block<false>(task, block);
    }
  }
}

constexpr CodecKernels codec_table{conv, conv_to_one, lstm};

}  // namespace

}  // namespace continuo::compute::cpu
