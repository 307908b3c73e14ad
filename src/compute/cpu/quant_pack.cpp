// Repacking of ggml's blocks into the panels of quant_kernels.h.
#include <algorithm>
#include <cstring>

#include "base/quant_blocks.h"
#include "compute/cpu/kernels.h"
#include "compute/cpu/packed_matrix.h"

namespace continuo::compute::cpu {

namespace {

struct Place {
  std::byte* payload;
  std::uint16_t* scales;
  float* scales_f32;
  int lane;
};

void put_q8(const std::byte* block, int group, int offset, const Place& place) {
  place.scales[place.lane] = block_scale_bits(block);
  for (int i = 0; i < quant_block; ++i) {
    const auto q = static_cast<int>(static_cast<std::int8_t>(block[2 + i]));
    std::byte& out = place.payload[i / group * panel_width * group + place.lane * group + i % group];
    out = static_cast<std::byte>(q + offset);
  }
}

template <class Number>
void put_q4(Number&& number, const Place& place) {
  for (int i = 0; i < 16; ++i) {
    place.payload[i / 4 * 64 + place.lane * 4 + i % 4] = static_cast<std::byte>(number(i) | number(i + 16) << 4);
  }
}

void put_q4_k(const std::byte* block, int part, const Q4KScales& scales, const Place& place) {
  place.scales_f32[place.lane] = scales.scale[part];
  place.scales_f32[panel_width + place.lane] = scales.minimum[part];
  put_q4([&](int i) { return q4_k_number(block, part * quant_block + i); }, place);
}

}  // namespace

QuantKind quant_kind(DType type) {
  switch (type) {
    case DType::q8_0: return QuantKind::q8;
    case DType::q4_0: return QuantKind::q4;
    case DType::q4_k: return QuantKind::q4_min;
    default: return QuantKind::none;
  }
}

PackedMatrix pack_blocks(std::span<const TensorView> weights, const QuantKernels& kernels) {
  PackedMatrix matrix;
  matrix.in = weights[0].shape[1];
  matrix.quant = quant_kind(weights[0].type);
  for (const TensorView& weight : weights) matrix.out += weight.shape[0];
  const std::int64_t blocks = matrix.in / quant_block, places = matrix.panel_count() * blocks;
  const bool with_minimums = matrix.quant == QuantKind::q4_min;
  matrix.panels = AlignedBytes(static_cast<std::size_t>(places * payload_bytes(matrix.quant)));
  matrix.scales = AlignedBytes(static_cast<std::size_t>(places * panel_width * (with_minimums ? 8 : 2)));
  // Channels beyond the last get scale 0, so what their payload says does not matter.
  std::memset(matrix.panels.data(), 0, matrix.panels.size());
  std::memset(matrix.scales.data(), 0, matrix.scales.size());
  std::int64_t o = 0;
  for (const TensorView& weight : weights) {
    for (std::int64_t r = 0; r < weight.shape[0]; ++r, ++o) {
      const std::byte* row = weight.row(r).data.data();
      Q4KScales scales{};
      for (std::int64_t b = 0; b < blocks; ++b) {
        const std::int64_t at = o / panel_width * blocks + b;
        const Place place{matrix.panels.data() + at * payload_bytes(matrix.quant),
                          reinterpret_cast<std::uint16_t*>(matrix.scales.data()) + at * panel_width,
                          reinterpret_cast<float*>(matrix.scales.data()) + at * 2 * panel_width,
                          static_cast<int>(o % panel_width)};
        switch (matrix.quant) {
          case QuantKind::q8: put_q8(row + b * 34, kernels.q8_group, kernels.q8_offset, place); break;
          case QuantKind::q4: {
            const std::byte* block = row + b * 18;
            place.scales[place.lane] = block_scale_bits(block);
            // The file, too, pairs an input with the one 16 later: bytes move as they are.
            for (int group = 0; group < 4; ++group)
              std::memcpy(place.payload + group * 64 + place.lane * 4, block + 2 + group * 4, 4);
            break;
          }
          case QuantKind::q4_min: {
            const std::byte* block = row + b / 8 * 144;
            if (b % 8 == 0) scales = q4_k_scales(block);
            put_q4_k(block, static_cast<int>(b % 8), scales, place);
            break;
          }
          case QuantKind::none: break;
        }
      }
    }
  }
  return matrix;
}

}  // namespace continuo::compute::cpu
