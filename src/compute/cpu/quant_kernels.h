// Products with block-quantised weights. A block is 32 weights of one output channel that share a scale (ggml's q8_0 and q4_0; a
// q4_k super-block is eight of them with a minimum each). Activations are quantised per row and block of 32, to int8 or, where
// the instruction set gives it free, int16; the integer sums of a block are exact, and blocks are added in order in f32. A row's
// result does not depend on its company.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/network.h"

namespace continuo::compute::cpu {

inline constexpr int quant_block = 32;

enum class QuantKind {
  none,
  q8,      // value = scale * q, q in -127..127
  q4,      // value = scale * (q - 8), q in 0..15
  q4_min,  // value = scale * q - minimum, q in 0..15
};

/// Weights in panels of 16 output channels. For each panel and block: payload, and 16 scales.
/// q4, q4_min payload, 256 bytes: [group of 4 inputs, 0 to 3][channel][4]: low nibble input 4 group + i, high nibble 16 inputs
/// later. q8 payload, 512 bytes: [inputs / q8_group][channel][q8_group], as q + q8_offset.
struct QuantGemm {
  QuantKind kind;
  const std::byte* payload;
  const std::uint16_t* scales;  // q8, q4: f16 [panel][block][16]
  const float* scales_f32;      // q4_min: [panel][block][2][16], scales then minimums
  std::int64_t blocks;          // of one output channel
  std::int64_t n;               // output channels
  std::int64_t rows;            // of x
  const std::byte* x;           // quantised rows, [blocks][rows][32] of int8 or int16: neighbours in a tile are neighbours here
  const float* x_scales;        // [blocks][rows]
  const std::int32_t* x_sums;   // [blocks][rows]: sums of the quantised values, times sum_factor()
  float* y;
  std::int64_t y_stride;
  const float* bias;      // [panels * 16] or null
  const float* residual;  // or null
  std::int64_t residual_stride;
  Activation after;
};

struct QuantKernels {
  int q8_group;   // 4, for products of bytes, or 2, for products of 16-bit pairs
  int q8_offset;  // 128 for instructions that multiply unsigned with signed bytes, else 0; the sums then have no use for q8
  int q8_bits;    // of the activations that meet q8 weights: 8 or 16; with 4-bit weights always 8
  void (*gemm)(const QuantGemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin,
               std::int64_t panel_end);
  /// One row of blocks * 32 values, to its places among `rows`. Sums are multiplied by `factor`.
  void (*quantise)(const float* x, std::int64_t blocks, std::int64_t rows, int bits, std::int32_t factor, std::byte* values,
                   float* scales, std::int32_t* sums);
};

static constexpr std::int64_t payload_bytes(QuantKind kind) { return kind == QuantKind::q8 ? 512 : 256; }

/// What the offset of the stored weights adds to a product for each unit of the activations' sum; q4_min uses the sum itself.
static constexpr std::int32_t sum_factor(QuantKind kind) { return kind == QuantKind::q8 ? -128 : kind == QuantKind::q4 ? -8 : 1; }

}  // namespace continuo::compute::cpu
