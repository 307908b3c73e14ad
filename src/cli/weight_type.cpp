#include "cli/weight_type.h"

namespace continuo::cli {

Result<DType> parse_weight_type(const std::string& name) {
  const auto type = dtype_from_name(name);
  if (!type) return fail(ErrorCode::invalid_argument, "--type must be f32, f16, bf16, q8_0, q4_0 or q4_k, not '{}'", name);
  return *type;
}

}  // namespace continuo::cli
