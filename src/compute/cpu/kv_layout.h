// How one head's keys and values lie in a page ("run"): so that a vector holds neighbouring positions of the keys, and of the
// values neighbouring dimensions, and no kernel has to add across a vector.
//   f32, f16  keys [padded][32 positions], values [32 positions][padded]
//   int8      keys [padded / 4][32 positions][4 dimensions] as q + 128, the unsigned side of a byte product,
//             values [8][padded][4 positions] as q, then scales: 32 of the keys, 32 of the values, f32
// The head's width is padded to whole vectors; what a padded query (zero) or a weight of zero meets does not matter.
#pragma once

#include <cstddef>
#include <cstdint>

#include "compute/kv.h"

namespace continuo::compute::cpu {

struct KvLayout {
  KvType type = KvType::f32;
  int width = 0;   // of a head
  int padded = 0;  // a multiple of 16
  int element_bytes = 0;
  // Bytes from the run's start to the values, to the scales, and to the next run. Plain members: kernels compiled for one
  // instruction set must not share inline functions with the rest.
  std::int64_t values_at = 0;
  std::int64_t scales_at = 0;
  std::int64_t run_bytes = 0;

  KvLayout() = default;
  KvLayout(KvType of, int head_width)
      : type(of),
        width(head_width),
        padded((head_width + 15) / 16 * 16),
        element_bytes(of == KvType::f32   ? 4
                      : of == KvType::f16 ? 2
                                          : 1),
        values_at(std::int64_t{page_positions} * padded * element_bytes),
        scales_at(2 * values_at),
        run_bytes(scales_at + (of == KvType::int8 ? 2 * page_positions * static_cast<std::int64_t>(sizeof(float)) : 0)) {}

  /// Bytes from the run's start to one number.
  std::int64_t key_at(std::int64_t position, std::int64_t dimension) const {
    if (type == KvType::int8) return dimension / 4 * (page_positions * 4) + position * 4 + dimension % 4;
    return (dimension * page_positions + position) * element_bytes;
  }
  std::int64_t value_at(std::int64_t position, std::int64_t dimension) const {
    if (type == KvType::int8) return values_at + (position / 4 * padded + dimension) * 4 + position % 4;
    return values_at + (position * padded + dimension) * element_bytes;
  }
};

}  // namespace continuo::compute::cpu
