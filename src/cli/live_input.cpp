#include "cli/live_input.h"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>

#include "cli/numbers.h"
#include "weights/text_check.h"

namespace continuo::cli {

namespace {

constexpr std::string_view blanks = " \t\r";
// More than a prompt may have, so that the engine is the one to refuse it.
constexpr std::size_t longest_line = 2 * engine::max_prompt_bytes;

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

Result<LiveLine> parse_command(std::string_view line) {
  const std::size_t end = line.find_first_of(blanks);
  const std::string_view word = line.substr(0, end);
  const std::string_view value = end == std::string_view::npos ? "" : trimmed(line.substr(end));
  const bool number = word == "/guidance" || word == "/temperature";
  if (number) {
    CONTINUO_TRY(const double amount, parse_number(value, word, 0.0, 100.0));
    engine::Change change;
    (word == "/guidance" ? change.guidance : change.temperature) = static_cast<float>(amount);
    return change;
  }
  if (word == "/quit" || word == "/help") {
    if (!value.empty()) return fail(ErrorCode::invalid_argument, "{} stands alone", word);
    if (word == "/quit") return Quit{};
    return Help{};
  }
  return fail(ErrorCode::invalid_argument, "there is no {}; /help lists what there is", word);
}

}  // namespace

Result<LiveLine> parse_live_line(std::string_view line) {
  line = trimmed(line);
  if (line.empty()) return Nothing{};
  if (!weights::valid_utf8(line)) return fail(ErrorCode::invalid_argument, "the line is not UTF-8 text");
  if (line.starts_with('/') && !line.starts_with("//")) return parse_command(line);
  if (line.starts_with("//")) line.remove_prefix(1);
  engine::Change change;
  change.prompt = line == "\"\"" ? "" : std::string(line);
  return change;
}

std::string live_help() {
  return "  any other line       the new prompt (\"\" is none)\n"
         "  /guidance NUMBER     how closely to follow it, 0 to 100\n"
         "  /temperature NUMBER  how freely to choose, 0 to 100\n"
         "  /quit                stop; so does Ctrl-C\n";
}

std::optional<std::string> LineReader::take_line() {
  const std::size_t end = text_.find('\n');
  if (end == std::string::npos && !(closed_ && !text_.empty())) return std::nullopt;
  std::string line = text_.substr(0, end);
  text_.erase(0, end == std::string::npos ? end : end + 1);
  return line;
}

LineReader::LineReader() { ::signal(SIGTTIN, SIG_IGN); }

std::optional<std::string> LineReader::next() {
  if (auto line = take_line()) return line;
  if (closed_) return std::nullopt;
  pollfd ready{STDIN_FILENO, POLLIN, 0};
  if (::poll(&ready, 1, 0) <= 0) return std::nullopt;
  std::array<char, 4096> buffer{};
  const ssize_t count = ::read(STDIN_FILENO, buffer.data(), buffer.size());
  // EIO: the terminal is somebody else's while this runs in the background.
  if (count < 0 && (errno == EINTR || errno == EAGAIN || errno == EIO)) return std::nullopt;
  if (count <= 0) closed_ = true;
  if (count > 0) text_.append(buffer.data(), static_cast<std::size_t>(count));
  if (text_.size() > longest_line && text_.find('\n') == std::string::npos) text_.resize(longest_line);
  return take_line();
}

}  // namespace continuo::cli
