// Which kernels this machine can run, asked at run time.
#pragma once

#include <string>

#include "base/error.h"
#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

/// The kernels for `name`, or for CONTINUO_ISA if name is empty, or else the best the machine has. avxvnni machines run the avx2
/// kernels at this stage, neon ones the portable. Errors: an unknown name, or a set the machine lacks.
Result<const Kernels*> choose_kernels(const std::string& name);

}  // namespace continuo::compute::cpu
