// What the decoder hears of a prompt.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "compute/kv.h"

namespace continuo::engine {

/// A prompt after the text encoder.
struct HeardText {
  std::shared_ptr<const compute::CrossKv> cross;          // of cross-attending models
  std::shared_ptr<const std::vector<float>> projected;    // [tokens, d], of melody models
  std::shared_ptr<const std::vector<float>> fingerprint;  // [text width]
  std::int64_t bytes() const;
};

}  // namespace continuo::engine
