// What a person types while `continuo live` plays: lines, and what each of them means.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "base/error.h"
#include "engine/engine.h"

namespace continuo::cli {

struct Nothing {};
struct Quit {};
struct Help {};
using LiveLine = std::variant<Nothing, engine::Change, Quit, Help>;

/// A line without its end. Blank: nothing. "/word ..." is a command; "//x" is the prompt "/x"; `""` is no prompt; anything else
/// is the new prompt. Errors: an unknown command, a number out of range, text that is not UTF-8.
Result<LiveLine> parse_live_line(std::string_view line);

/// What /help prints.
std::string live_help();

/// Standard input, line by line, without ever waiting for it. A process that is put into the background is not stopped for
/// asking.
class LineReader {
 public:
  LineReader();
  /// The next whole line, if it is there. The last one counts without an end, too. A line longer than any prompt is cut off
  /// where no prompt could go on.
  std::optional<std::string> next();

 private:
  std::optional<std::string> take_line();

  std::string text_;
  bool closed_ = false;
};

}  // namespace continuo::cli
