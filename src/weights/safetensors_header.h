// The JSON header of a safetensors file, parsed event by event: never deeper than the format goes, no tree of the whole.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "base/error.h"
#include "weights/safetensors.h"

namespace continuo::weights {

/// The entries with their types, shapes and ranges as written; ranges are not yet compared with anything. The error's message
/// says what is wrong and leaves naming the file to the caller.
Result<std::map<std::string, SafetensorsEntry, std::less<>>> parse_safetensors_header(std::string_view json);

}  // namespace continuo::weights
