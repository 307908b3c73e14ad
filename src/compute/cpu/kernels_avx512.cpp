#if defined(__x86_64__)
#define CONTINUO_LANES 16
#define CONTINUO_ISA_NAME "avx512vnni"
#include "compute/cpu/kernels_simd.h"

namespace continuo::compute::cpu {
const Kernels& avx512_kernels() { return table; }
}  // namespace continuo::compute::cpu
#endif
