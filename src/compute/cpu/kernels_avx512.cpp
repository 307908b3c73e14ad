#if defined(__x86_64__)
#define CONTINUO_LANES 16
#define CONTINUO_VNNI 1
#define CONTINUO_NAME "avx512vnni"
#define CONTINUO_TABLE avx512_kernels
#include "compute/cpu/simd_table.h"
#endif
