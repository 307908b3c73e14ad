#if defined(__aarch64__)
#define CONTINUO_LANES 4
#define CONTINUO_VNNI 1
#define CONTINUO_NAME "neon"
#define CONTINUO_TABLE neon_kernels
#include "compute/cpu/simd_table.h"
#endif
