// The file of --relay: prompts in a row, one a line, each with its length. docs/cli.md describes it for the person who writes it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "engine/engine.h"

namespace continuo::cli {

/// Segments in one relay.
inline constexpr std::size_t max_segments = 256;

/// `SECONDS [continue:|crossfade:] PROMPT` a line. Blank lines and lines that start with # are skipped; LF or CRLF, a byte order
/// mark is dropped; a prompt of "" is none. Errors name the line.
Result<std::vector<engine::Segment>> relay_from_text(std::string_view text, const std::string& name);

/// The file's, or standard input's for "-".
Result<std::vector<engine::Segment>> read_relay(const std::string& path);

bool has_crossfades(const std::vector<engine::Segment>& segments);

}  // namespace continuo::cli
