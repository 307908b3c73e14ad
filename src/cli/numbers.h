// Strict numbers from the command line: the whole word must be one plain decimal number inside the range. "10s", "nan", "inf",
// "1e9" and "" are refused with a message that says the range. All errors are invalid_argument.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"

namespace continuo::cli {

/// `what` starts the message: "--temperature".
Result<double> parse_number(std::string_view text, std::string_view what, double least, double most);
Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most);
/// Any 64-bit number.
Result<std::uint64_t> parse_seed(std::string_view text);
/// "2,4,8": each within the range, at most 32 of them.
Result<std::vector<int>> parse_list(std::string_view text, std::string_view what, int least, int most);

/// "1.5 MB": powers of ten, three significant digits.
std::string human_bytes(std::int64_t bytes);

}  // namespace continuo::cli
