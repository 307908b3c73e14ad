#include "cli/numbers.h"

#include <charconv>
#include <cmath>
#include <optional>

namespace continuo::cli {

namespace {

constexpr std::size_t max_list = 32;

template <class T, class... Format>
std::optional<T> whole(std::string_view text, Format... format) {
  T value{};
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value, format...);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace

Result<double> parse_number(std::string_view text, std::string_view what, double least, double most) {
  const auto value = whole<double>(text, std::chars_format::fixed);
  if (!value || !std::isfinite(*value) || *value < least || *value > most) {
    return fail(ErrorCode::invalid_argument, "{} must be a plain number from {} to {}, not '{}'", what, least, most, text);
  }
  return *value;
}

Result<std::int64_t> parse_integer(std::string_view text, std::string_view what, std::int64_t least, std::int64_t most) {
  const auto value = whole<std::int64_t>(text);
  if (!value || *value < least || *value > most) {
    return fail(ErrorCode::invalid_argument, "{} must be a whole number from {} to {}, not '{}'", what, least, most, text);
  }
  return *value;
}

Result<std::uint64_t> parse_seed(std::string_view text) {
  const auto value = whole<std::uint64_t>(text);
  if (!value) {
    return fail(ErrorCode::invalid_argument, "--seed must be a whole number from 0 to 18446744073709551615, not '{}'", text);
  }
  return *value;
}

Result<std::vector<int>> parse_list(std::string_view text, std::string_view what, int least, int most) {
  std::vector<int> values;
  while (true) {
    const std::size_t comma = text.find(',');
    CONTINUO_TRY(const auto value, parse_integer(text.substr(0, comma), what, least, most));
    values.push_back(static_cast<int>(value));
    if (comma == std::string_view::npos) return values;
    if (values.size() == max_list) return fail(ErrorCode::invalid_argument, "{} takes at most {} numbers", what, max_list);
    text.remove_prefix(comma + 1);
  }
}

std::string human_bytes(std::int64_t bytes) {
  static constexpr const char* units[] = {"B", "kB", "MB", "GB", "TB"};
  auto value = static_cast<double>(bytes);
  int unit = 0;
  while (value >= 999.5 && unit < 4) {
    value /= 1000.0;
    ++unit;
  }
  if (unit == 0 || value >= 99.95) return fmt::format("{:.0f} {}", value, units[unit]);
  return value >= 9.995 ? fmt::format("{:.1f} {}", value, units[unit]) : fmt::format("{:.2f} {}", value, units[unit]);
}

}  // namespace continuo::cli
