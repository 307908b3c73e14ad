// 256-bit vectors with vpdpbusd in VEX encoding, for processors that have it without AVX-512.
#if defined(__x86_64__)
#define CONTINUO_LANES 8
#define CONTINUO_VNNI 1
#define CONTINUO_NAME "avxvnni"
#define CONTINUO_TABLE avxvnni_kernels
#include "compute/cpu/simd_table.h"
#endif
