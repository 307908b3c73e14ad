#include "cli/prompts.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iostream>

#include "weights/text_check.h"

namespace continuo::cli {

namespace {

constexpr std::size_t max_file_bytes = std::size_t{4} << 20;
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

/// A pipe will do as well as a file, so this does not map it.
Result<std::string> read_stream(std::istream& stream, const std::string& name) {
  std::string text(max_file_bytes + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (stream.bad()) return fail(ErrorCode::io, "cannot read {}", name);
  if (text.size() > max_file_bytes) return fail(ErrorCode::corrupt_file, "{} is longer than {} MiB", name, max_file_bytes >> 20);
  return text;
}

}  // namespace

Result<std::vector<std::string>> prompts_from_text(std::string_view text, const std::string& name, std::size_t most) {
  if (text.starts_with(byte_order_mark)) text.remove_prefix(byte_order_mark.size());
  std::vector<std::string> prompts;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find_first_not_of(" \t") == std::string_view::npos) continue;
    if (!weights::valid_utf8(line)) return fail(ErrorCode::corrupt_file, "{}, line {}: not UTF-8 text", name, number);
    if (prompts.size() == most) return fail(ErrorCode::corrupt_file, "{} holds more than {} prompts; split it", name, most);
    prompts.emplace_back(line);
  }
  if (prompts.empty()) return fail(ErrorCode::corrupt_file, "{} holds no prompts: write one a line", name);
  return prompts;
}

Result<std::string> read_text_of(const std::string& path) {
  if (path == "-") return read_stream(std::cin, "standard input");
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    const auto code = errno == ENOENT ? ErrorCode::not_found : ErrorCode::io;
    return fail(code, "cannot open {}: {}", path, std::strerror(errno));
  }
  return read_stream(file, path);
}

Result<std::vector<std::string>> read_prompts(const std::string& path, std::size_t most) {
  CONTINUO_TRY(const std::string text, read_text_of(path));
  return prompts_from_text(text, path == "-" ? "standard input" : path, most);
}

Status check_prompt(std::string_view prompt) {
  if (!weights::valid_utf8(prompt)) return fail(ErrorCode::invalid_argument, "the prompt is not UTF-8 text");
  return {};
}

}  // namespace continuo::cli
