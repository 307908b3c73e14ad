#if defined(__x86_64__)
#define CONTINUO_LANES 8
#define CONTINUO_VNNI 0
#define CONTINUO_NAME "avx2"
#define CONTINUO_TABLE avx2_kernels
#include "compute/cpu/simd_table.h"
#endif
