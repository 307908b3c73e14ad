// All vectorised kernels of one instruction set and their table; a translation unit sets CONTINUO_LANES, CONTINUO_VNNI (whether
// one instruction adds four products of bytes to each 32-bit sum: vpdpbusd, sdot), CONTINUO_NAME and CONTINUO_TABLE, is compiled
// for its set (cmake/continuo_layer.cmake) and includes this once.
#include "compute/cpu/kernels_simd.h"
// kernels_simd.h first: the others use what it defines.
#include "compute/cpu/attention_simd.h"
#include "compute/cpu/codec_simd.h"
#include "compute/cpu/quant_simd.h"

namespace continuo::compute::cpu {

const Kernels& CONTINUO_TABLE() {
  static constexpr Kernels table{
      CONTINUO_NAME, true,     gemm,          attend,     attend_pages, join_parts,   layer_norm,
      rms_norm,      activate, float_to_half, store_int8, &quant_table, &codec_table,
  };
  return table;
}

}  // namespace continuo::compute::cpu
