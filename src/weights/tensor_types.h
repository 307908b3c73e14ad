// Which type a tensor has in a file of a given type (docs/gguf.md, "Types"). A file of a block type is mixed: only what is read
// in every step is worth the loss.
#pragma once

#include "base/tensor.h"
#include "weights/musicgen_layout.h"

namespace continuo::weights {

/// Every result can hold the tensor's rows: they are whole blocks of it. All parts of a stack that is multiplied at once (q, k
/// and v of a layer, the heads) get the same type, because the rule asks for the kind of layer and its row length alone.
DType stored_type(const TensorSpec& spec, DType file_type);

}  // namespace continuo::weights
