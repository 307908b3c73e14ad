#if defined(__x86_64__)
#define CONTINUO_LANES 8
#define CONTINUO_ISA_NAME "avx2"
#include "compute/cpu/kernels_simd.h"

namespace continuo::compute::cpu {
const Kernels& avx2_kernels() { return table; }
}  // namespace continuo::compute::cpu
#endif
