// Words that files, operators and networks share.
#pragma once

namespace continuo {

/// gelu_erf is the exact form; gelu_tanh the approximation GPT-2 and T5 v1.1 use. elu has alpha 1.
enum class Activation { none, relu, gelu_erf, gelu_tanh, elu };

/// How a convolution's input is continued beyond its ends. constant means zeros.
enum class PadMode { constant, reflect, replicate };

}  // namespace continuo
