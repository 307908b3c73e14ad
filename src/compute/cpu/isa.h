// Which kernels this machine can run, asked at run time.
#pragma once

#include <string>

#include "base/error.h"
#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

/// The kernels for `name`, or for CONTINUO_ISA if name is empty, or else the best the machine has. neon means NEON with the dot
/// product instructions, which ARMv8.2 made optional: older ARM64 machines run the portable kernels. Errors: an unknown name, or
/// a set the machine lacks.
Result<const Kernels*> choose_kernels(const std::string& name);

}  // namespace continuo::compute::cpu
