// Where prompts come from: words on the command line, or a file with one a line.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace continuo::cli {

/// One prompt a line. Line ends may be LF or CRLF, a byte order mark is dropped, blank lines are skipped (an empty prompt would
/// silently mean "unconditional"). Errors name the line: bad UTF-8; also a file without any prompt, or with more than `most`.
Result<std::vector<std::string>> prompts_from_text(std::string_view text, const std::string& name, std::size_t most);

/// All of a file, or of standard input for "-". At most 4 MiB are read.
Result<std::string> read_text_of(const std::string& path);

/// The file's, or standard input's for "-".
Result<std::vector<std::string>> read_prompts(const std::string& path, std::size_t most);

/// Refuses what is not UTF-8. The empty prompt is fine.
Status check_prompt(std::string_view prompt);

}  // namespace continuo::cli
