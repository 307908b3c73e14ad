// The same source in EVEX encoding: how an AVX-512 machine without AVX-VNNI runs what others run, when asked to.
#if defined(__x86_64__)
#define CONTINUO_LANES 8
#define CONTINUO_VNNI 1
#define CONTINUO_NAME "avxvnni"
#define CONTINUO_TABLE avxvnni_evex_kernels
#include "compute/cpu/simd_table.h"
#endif
