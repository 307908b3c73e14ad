#include "weights/tensor_types.h"

namespace continuo::weights {

namespace {

bool holds_rows(DType type, const Shape& shape) { return shape[shape.rank - 1] % block_size(type).elements == 0; }

/// The type asked for, or the next better one whose blocks fit the rows.
DType fitting(DType type, const Shape& shape) {
  if (holds_rows(type, shape)) return type;
  return holds_rows(DType::q8_0, shape) ? DType::q8_0 : DType::f16;
}

}  // namespace

DType stored_type(const TensorSpec& spec, DType file_type) {
  // A few thousand numbers that scale whole rows, and a table that is added to scores: nothing to gain.
  if (spec.always_f32()) return DType::f32;
  if (file_type == DType::f32 || file_type == DType::f16) return file_type;
  // Of a table only a few rows are read at a time, so small blocks would save no time; the codec is convolutions, which the
  // kernels do not run in blocks, and its errors are heard directly.
  if (spec.kind == TensorKind::embedding || spec.name.starts_with("codec.")) return DType::f16;
  if (file_type == DType::bf16) return DType::bf16;
  // Everything the decoder hears passes through its projections, once a request.
  if (spec.name.ends_with("_proj.weight")) return DType::f16;
  // The heads' error is the logits' error, with no layer after it to average it out.
  if (spec.name.starts_with("decoder.head.")) return fitting(DType::q8_0, spec.shape);
  return fitting(file_type, spec.shape);
}

}  // namespace continuo::weights
