// The vectors that all vectorised kernels are written over; included first, once in each translation unit.
#include <cstddef>
#include <cstdint>

#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

namespace {

constexpr int lanes = CONTINUO_LANES;
constexpr int panel_vectors = panel_width / lanes;
using Floats = float __attribute__((vector_size(lanes * 4)));
using FloatsAnywhere = float __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
using Ints = std::int32_t __attribute__((vector_size(lanes * 4)));

Floats load(const float* p) { return *reinterpret_cast<const FloatsAnywhere*>(p); }
void store(float* p, Floats v) { *reinterpret_cast<FloatsAnywhere*>(p) = v; }

std::int32_t four_bytes(const std::byte* p) {
  std::int32_t word;
  __builtin_memcpy(&word, p, 4);
  return word;
}

}  // namespace

}  // namespace continuo::compute::cpu

// What needs instructions of its own.
#if defined(__aarch64__)
#include "compute/cpu/vectors_neon.h"
#else
#include "compute/cpu/vectors_x86.h"
#endif
