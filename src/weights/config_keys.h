// A ModelConfig as the keys of a GGUF file (docs/gguf.md), in both directions from one list, so that what is written is what
// is read. Reading refuses a missing key, a wrong type, a key of ours that is not in the list (a newer file means
// something by it), and every number out of bounds (config_check.h).
#pragma once

#include "base/error.h"
#include "weights/gguf_file.h"
#include "weights/gguf_writer.h"
#include "weights/model_config.h"

namespace continuo::weights {

inline constexpr std::uint32_t format_version = 1;

/// Refuses another family by its name before it looks at any other key.
Result<ModelConfig> read_config(const GgufFile& file);

/// The config has passed check_config.
void write_config(const ModelConfig& config, GgufWriter& writer);

}  // namespace continuo::weights
