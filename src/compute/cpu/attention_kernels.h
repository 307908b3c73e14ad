// Attention of one query row over paged keys and values, in one pass: a page's scores, their weights relative to the largest
// score so far, the weighted values; what was summed before is scaled down when a larger score turns up (online softmax; Milakov
// and Gimelshein, "Online normalizer calculation for softmax", 2018).
//
// A part covers a range of positions; ranges have a fixed size, and their parts are joined in order, so that results do not
// depend on which thread did what. For int8 keys and values the query and a page's weights are quantised to 16 bits, which
// makes the products integer and exact, the same on every instruction set.
#pragma once

#include <cstdint>

#include "compute/cpu/kv_layout.h"

namespace continuo::compute::cpu {

/// Positions of a part: a whole number of pages.
inline constexpr int part_positions = 8 * page_positions;

/// What a part is while it is summed, one for each head: followed by the mix [padded] f32, then by the query as the kernel wants
/// it [padded] f32 (for int8: 16 bits, or the upper and the lower bytes).
struct alignas(64) AttendState {
  float top;      // largest score so far
  float sum;      // of e^(score - top)
  float q_scale;  // int8: what a unit of a score is worth, but for the key's scale
  std::int32_t q_sum;
};
/// Largest 16-bit query: its upper byte, rounded, must stay within -127 to 127. And the largest 16-bit weight.
inline constexpr float largest_query = 127 * 256 + 127;
inline constexpr float largest_weight = 32767;
inline constexpr float smallest_unit = 1e-30F;  // what is smaller counts as zero, so that its inverse stays finite
inline constexpr float lowest_score = -3.0e38F;

inline constexpr std::int64_t attend_header = sizeof(AttendState) / sizeof(float);

struct AttendPages {
  KvLayout layout;
  int heads;                     // neighbours, one run after the other in a page
  const float* q;                // [heads, width]
  float scale;                   // of the scores
  const std::byte* const* runs;  // of the part's pages: the run of the first head
  int positions;                 // of the part, > 0
  std::int64_t state_floats;     // from one head's state to the next: attend_header + 2 padded
  float* states;                 // [heads]
};

}  // namespace continuo::compute::cpu
