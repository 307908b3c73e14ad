// Values as the bytes of a tensor, in any of our types. Blocks are made by ggml's own quantisers (without an importance matrix,
// so each block depends on its own values alone), which is what every other program that reads these files expects.
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/tensor.h"
#include "base/thread_pool.h"

namespace continuo::weights {

/// `values` are finite and whole blocks of the type; `out` has just their bytes. The result does not depend on the number of
/// threads. Returns a value that the type cannot hold (it, or its block's scale, would be infinite), else nullopt.
std::optional<float> encode(DType type, std::span<const float> values, std::span<std::byte> out, ThreadPool& threads);

}  // namespace continuo::weights
