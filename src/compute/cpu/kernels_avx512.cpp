#if defined(__x86_64__)
#define CONTINUO_LANES 16
#define CONTINUO_VNNI 1
#include "compute/cpu/kernels_simd.h"
//
#include "compute/cpu/attention_simd.h"
#include "compute/cpu/quant_simd.h"

namespace continuo::compute::cpu {
const Kernels& avx512_kernels() {
  static constexpr Kernels table{"avx512vnni", true,     gemm,      attend,        attend_pages, layer_norm,
                                 rms_norm,     activate, lstm_cell, float_to_half, store_int8,   &quant_table};
  return table;
}
}  // namespace continuo::compute::cpu
#endif
