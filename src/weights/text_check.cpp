#include "weights/text_check.h"

#include <algorithm>
#include <cstdint>

namespace continuo::weights {

namespace {

/// Bytes of the well-formed character at the front of `text`, 0 if there is none. (Unicode 15, table 3-7.)
std::size_t character_length(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<std::uint8_t>(text[i]) : std::uint8_t{0}; };
  const auto within = [&](std::size_t i, int low, int high) { return byte(i) >= low && byte(i) <= high; };
  const std::uint8_t first = byte(0);
  if (text.empty()) return 0;
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return within(1, 0x80, 0xBF) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const int low = first == 0xE0 ? 0xA0 : 0x80;
    const int high = first == 0xED ? 0x9F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const int low = first == 0xF0 ? 0x90 : 0x80;
    const int high = first == 0xF4 ? 0x8F : 0xBF;
    return within(1, low, high) && within(2, 0x80, 0xBF) && within(3, 0x80, 0xBF) ? 4 : 0;
  }
  return 0;
}

bool is_control(char c) { return static_cast<std::uint8_t>(c) < 0x20 || c == 0x7F; }

}  // namespace

bool valid_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

bool single_line(std::string_view text) {
  for (const char c : text) {
    if (is_control(c)) return false;
  }
  return true;
}

std::string printable(std::string_view text, std::size_t limit) {
  const auto plain = [](char c) { return c >= 0x20 && c < 0x7F; };
  if (text.size() <= limit && std::all_of(text.begin(), text.end(), plain)) return std::string(text);  // nearly always
  std::string result;
  while (!text.empty()) {
    const std::size_t length = character_length(text);
    if (result.size() + length > limit) return result + "...";
    if (length == 0 || is_control(text[0])) {
      result += '?';
      text.remove_prefix(1);
    } else {
      result += text.substr(0, length);
      text.remove_prefix(length);
    }
  }
  return result;
}

}  // namespace continuo::weights
