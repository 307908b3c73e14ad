// --type: what the matrices of a model file are stored as.
#pragma once

#include <string>

#include "base/error.h"
#include "base/tensor.h"

namespace continuo::cli {

/// Any type that has a name here; which of them can be written or run is for the layers below to say.
Result<DType> parse_weight_type(const std::string& name);

}  // namespace continuo::cli
