// Counted random numbers: Philox4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011). The number for
// a (key, counter) pair is a pure function of the two, so a draw does not depend on what else was drawn before it.
#pragma once

#include <array>
#include <cstdint>

namespace continuo {

using PhiloxCounter = std::array<std::uint32_t, 4>;
using PhiloxKey = std::array<std::uint32_t, 2>;

/// Ten rounds; the four words are independent uniform 32-bit numbers.
PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key);

/// A uniform number in [0, 1) with 53 bits, for one draw of a request: keyed by seed, counted by take, step and codebook.
double uniform_draw(std::uint64_t seed, std::uint32_t take, std::uint32_t step, std::uint32_t codebook);

}  // namespace continuo
