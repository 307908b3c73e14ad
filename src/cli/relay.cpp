#include "cli/relay.h"

#include <algorithm>

#include "cli/numbers.h"
#include "cli/prompts.h"
#include "weights/text_check.h"

namespace continuo::cli {

namespace {

constexpr std::string_view blanks = " \t";
constexpr std::string_view byte_order_mark = "\xEF\xBB\xBF";

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Takes `word` off the beginning of the text.
bool take(std::string_view& text, std::string_view word) {
  if (!text.starts_with(word)) return false;
  text = trimmed(text.substr(word.size()));
  return true;
}

Result<engine::Segment> segment_from_line(std::string_view line, bool first) {
  engine::Segment segment;
  const std::size_t end = line.find_first_of(blanks);
  const std::string_view word = line.substr(0, end);
  const auto seconds = parse_number(word, "", 0.0, engine::longest_seconds);
  if (!seconds) {
    return fail(ErrorCode::corrupt_file, "a line begins with its seconds, a plain number up to {:g}, not '{}'",
                engine::longest_seconds, weights::printable(word));
  }
  segment.seconds = *seconds;
  if (segment.seconds == 0.0) return fail(ErrorCode::corrupt_file, "0 seconds are nothing; leave the line out");
  std::string_view rest = trimmed(end == std::string_view::npos ? "" : line.substr(end));
  const bool crossfade = take(rest, "crossfade:");
  if (crossfade && first) return fail(ErrorCode::corrupt_file, "the first prompt has nothing to be crossfaded with");
  if (crossfade) segment.join = engine::Join::crossfaded;
  if (!crossfade) take(rest, "continue:");
  if (rest.empty()) return fail(ErrorCode::corrupt_file, "its prompt is missing (\"\" is music without one)");
  if (rest != "\"\"") segment.prompt = rest;
  if (segment.prompt.size() > engine::max_prompt_bytes) {
    return fail(ErrorCode::corrupt_file, "the prompt has {} bytes; at most {} are accepted", segment.prompt.size(),
                engine::max_prompt_bytes);
  }
  return segment;
}

}  // namespace

Result<std::vector<engine::Segment>> relay_from_text(std::string_view text, const std::string& name) {
  take(text, byte_order_mark);
  std::vector<engine::Segment> segments;
  double seconds = 0.0;
  for (int number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    line = trimmed(line);
    if (line.empty() || line.starts_with('#')) continue;
    if (!weights::valid_utf8(line)) return fail(ErrorCode::corrupt_file, "{}, line {}: not UTF-8 text", name, number);
    auto segment = segment_from_line(line, segments.empty());
    if (!segment) return fail(ErrorCode::corrupt_file, "{}, line {}: {}", name, number, segment.error().message);
    if (segments.size() == max_segments) {
      return fail(ErrorCode::corrupt_file, "{}, line {}: a relay has at most {} prompts", name, number, max_segments);
    }
    seconds += segment->seconds;
    if (seconds > engine::longest_seconds) {
      return fail(ErrorCode::corrupt_file, "{}, line {}: {:g} s so far; the longest piece has {:g} s", name, number, seconds,
                  engine::longest_seconds);
    }
    segments.push_back(std::move(*segment));
  }
  if (segments.empty()) {
    return fail(ErrorCode::corrupt_file, "{} holds no prompts: write one a line, its seconds before it (15 soft piano)", name);
  }
  return segments;
}

Result<std::vector<engine::Segment>> read_relay(const std::string& path) {
  CONTINUO_TRY(const std::string text, read_text_of(path));
  return relay_from_text(text, path == "-" ? "standard input" : path);
}

bool has_crossfades(const std::vector<engine::Segment>& segments) {
  return std::any_of(segments.begin(), segments.end(),
                     [](const engine::Segment& segment) { return segment.join == engine::Join::crossfaded; });
}

}  // namespace continuo::cli
