#include "server/media/byte_range.h"

#include <algorithm>
#include <charconv>
#include <limits>

namespace continuo::server {

namespace {

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

bool is_bytes(std::string_view unit) {
  constexpr std::string_view name = "bytes";
  return std::equal(unit.begin(), unit.end(), name.begin(), name.end(),
                    [](char a, char b) { return (a >= 'A' && a <= 'Z' ? static_cast<char>(a - 'A' + 'a') : a) == b; });
}

/// Digits alone; more of them than a number holds are the largest number.
std::optional<std::int64_t> parse_digits(std::string_view text) {
  if (text.empty() || !std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; })) return std::nullopt;
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error == std::errc::result_out_of_range) return std::numeric_limits<std::int64_t>::max();
  return value;
}

}  // namespace

RangeWish parse_range(std::string_view header, std::int64_t size) {
  const std::size_t equals = header.find('=');
  if (equals == std::string_view::npos || !is_bytes(trimmed(header.substr(0, equals)))) return {};
  const std::string_view range = trimmed(header.substr(equals + 1));
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return {};
  const std::string_view from = trimmed(range.substr(0, dash)), to = trimmed(range.substr(dash + 1));
  const auto first = parse_digits(from), last = parse_digits(to);
  if ((!first && !from.empty()) || (!last && !to.empty()) || (!first && !last)) return {};
  if (!first) {  // the last so many
    if (*last == 0 || size == 0) return {RangeWish::Kind::none, {}};
    return {RangeWish::Kind::part, {size - std::min(*last, size), size - 1}};
  }
  if (last && *last < *first) return {};
  if (*first >= size) return {RangeWish::Kind::none, {}};
  return {RangeWish::Kind::part, {*first, std::min(last.value_or(size - 1), size - 1)}};
}

bool names_tag(std::string_view header, std::string_view tag) {
  while (!header.empty()) {
    const std::size_t comma = header.find(',');
    std::string_view one = trimmed(header.substr(0, comma));
    if (one == "*") return true;
    if (one.starts_with("W/")) one.remove_prefix(2);
    if (one == tag) return true;
    if (comma == std::string_view::npos) break;
    header.remove_prefix(comma + 1);
  }
  return false;
}

}  // namespace continuo::server
