// Activations in plain arithmetic, for the portable kernels.
#pragma once

#include "base/network.h"

namespace continuo::compute::cpu {

float apply_activation(Activation activation, float x);

}  // namespace continuo::compute::cpu
