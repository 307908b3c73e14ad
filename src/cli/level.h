// --level: whether the level of a long piece is kept steady.
// Pieces longer than the model's window are (engine/steady_level.h), unless a person wants them as the model made them; what one
// window holds is left alone, unless a person wants it steady too.
#pragma once

#include <optional>

#include "cli/command.h"
#include "engine/steady_level.h"

namespace continuo::cli {

Option level_option();

/// steady or free; nothing if it is left to the piece's length.
Result<std::optional<bool>> read_level(const Arguments& arguments);

}  // namespace continuo::cli
