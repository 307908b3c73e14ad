// The inner loops, once for each instruction set. Each set fills one table of functions; nothing outside its own translation
// unit may be compiled for it, since an inline function shared by the linker would then crash older machines.
#pragma once

#include <cstdint>

#include "base/network.h"
#include "compute/cpu/attention_kernels.h"
#include "compute/cpu/codec_kernels.h"
#include "compute/cpu/quant_kernels.h"

namespace continuo::compute::cpu {

/// Output channels in a panel of a packed matrix.
inline constexpr int panel_width = 16;

/// y = after(x W^T + bias) + residual for a matrix packed in panels: [panel][k][16], padded with zeros.
/// Row r of x starts at x + r * x_stride and has k values; strides smaller than k make a convolution of it.
/// Each result sums over k in ascending order, whatever the rows around it.
struct Gemm {
  const float* x;
  std::int64_t x_stride;
  const void* panels;
  bool half;  // panels hold f16 (else f32)
  std::int64_t k;
  std::int64_t n;  // output channels
  float* y;
  std::int64_t y_stride;
  const float* bias;      // [panels * 16] or null
  const float* residual;  // or null
  std::int64_t residual_stride;
  Activation after;
};

/// One query of one head of an encoder's attention.
struct Attend {
  const float* q;  // [width]
  float scale;
  int width;            // head width
  const float* keys;    // [positions, width]
  const float* values;  // [positions, width]
  std::int64_t positions;
  float* scores;      // scratch, [positions]
  float* out;         // [width]
  const float* bias;  // [positions], added to the scaled scores
};

struct Kernels {
  const char* name;
  bool half_panels;  // whether gemm can read f16 (else they are expanded at load)
  void (*gemm)(const Gemm& task, std::int64_t row_begin, std::int64_t row_end, std::int64_t panel_begin, std::int64_t panel_end);
  void (*attend)(const Attend& task);
  /// Starts the task's states and takes its positions in.
  void (*attend_pages)(const AttendPages& task);
  /// Joins the parts of one head: out [width] = softmax-weighted mix. parts [count], `stride` floats apart.
  void (*join_parts)(const float* parts, std::int64_t count, std::int64_t stride, int width, float* out);
  void (*layer_norm)(const float* x, const float* gain, const float* bias, float epsilon, std::int64_t width, float* y);
  void (*rms_norm)(const float* x, const float* gain, float epsilon, std::int64_t width, float* y);
  void (*activate)(Activation activation, const float* x, std::int64_t count, float* y);
  void (*float_to_half)(const float* x, std::int64_t count, std::uint16_t* y);
  /// Writes the key and value [width] of one position into an int8 run, rounded to whole steps of their scales, -127 to 127.
  void (*store_int8)(const KvLayout& layout, std::int64_t slot, const float* key, const float* value, std::byte* run);
  const QuantKernels* quant;
  const CodecKernels* codec;
};

const Kernels& portable_kernels();
void portable_attend_pages(const AttendPages& task);
void portable_join_parts(const float* parts, std::int64_t count, std::int64_t stride, int width, float* out);
void portable_store_int8(const KvLayout& layout, std::int64_t slot, const float* key, const float* value, std::byte* run);
const QuantKernels& portable_quant_kernels();
#if defined(__x86_64__)
const Kernels& avx2_kernels();
const Kernels& avxvnni_kernels();
const Kernels& avxvnni_evex_kernels();  // the same, in AVX-512's encoding
const Kernels& avx512_kernels();
#elif defined(__aarch64__)
const Kernels& neon_kernels();
#endif

}  // namespace continuo::compute::cpu
