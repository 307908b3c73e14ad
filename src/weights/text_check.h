// Text out of files that may be hostile: checked before it becomes a key, a name or a line on somebody's terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace continuo::weights {

/// Well-formed UTF-8 as Unicode defines it: no overlong forms, no surrogates, nothing above U+10FFFF.
bool valid_utf8(std::string_view text);

/// True for text without control characters (line feeds and tabs count as such).
bool single_line(std::string_view text);

/// Text for an error message: control characters and bad UTF-8 become '?', what is longer than `limit` bytes is cut.
std::string printable(std::string_view text, std::size_t limit = 96);

}  // namespace continuo::weights
