#include "weights/model_card.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <utility>

#include "base/file.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr std::size_t card_bytes_max = 1U << 20;

std::string_view trim(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = text.find('\n');
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
  return trim(line);
}

/// The value of a `name: value` line without quotes and comment; empty if the line is another.
std::string_view value_of(std::string_view line, std::string_view name) {
  if (!line.starts_with(name)) return {};
  line.remove_prefix(name.size());
  if (!line.starts_with(':')) return {};
  line = line.substr(1);
  line = trim(line.substr(0, line.find(" #")));
  if (line.size() >= 2 && (line.front() == '"' || line.front() == '\'') && line.back() == line.front()) {
    line = line.substr(1, line.size() - 2);
  }
  return line;
}

std::string_view recognise(std::string_view text) {
  // Longest first: every name here is part of the ones before it or apart from them.
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 6> titles = {{
      {"Attribution-NonCommercial-ShareAlike 4.0", "CC-BY-NC-SA-4.0"},
      {"Attribution-NonCommercial 4.0", "CC-BY-NC-4.0"},
      {"Attribution-ShareAlike 4.0", "CC-BY-SA-4.0"},
      {"Attribution 4.0", "CC-BY-4.0"},
      {"MIT License", "MIT"},
      {"Apache License", "Apache-2.0"},
  }};
  const std::string_view head = text.substr(0, 400);
  for (const auto& [title, name] : titles) {
    if (head.find(title) != std::string_view::npos) return name;
  }
  return {};
}

bool acceptable(std::string_view license) {
  return !license.empty() && license.size() <= 100 && valid_utf8(license) && single_line(license);
}

}  // namespace

std::string spdx_name(std::string_view license) {
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 4> exact = {
      {{"mit", "MIT"}, {"apache-2.0", "Apache-2.0"}, {"bsd-2-clause", "BSD-2-Clause"}, {"bsd-3-clause", "BSD-3-Clause"}}};
  for (const auto& [hub, spdx] : exact) {
    if (license == hub) return std::string(spdx);
  }
  std::string name(license);
  if (license.starts_with("cc-") || license.starts_with("cc0-")) {
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return static_cast<char>(std::toupper(c)); });
  }
  return name;
}

std::string license_in_card(std::string_view card) {
  if (next_line(card) != "---") return {};
  std::string_view license;
  std::string_view license_name;
  while (!card.empty()) {
    const std::string_view line = next_line(card);
    if (line == "---") break;
    if (license.empty()) license = value_of(line, "license");
    if (license_name.empty()) license_name = value_of(line, "license_name");
  }
  if (license == "other" && !license_name.empty()) license = license_name;
  return acceptable(license) ? spdx_name(license) : std::string();
}

std::string read_license(const std::string& folder) {
  if (const auto card = read_text_file(folder + "/README.md", card_bytes_max)) {
    const std::string license = license_in_card(*card);
    if (!license.empty()) return license;
  }
  for (const char* name : {"/LICENSE", "/LICENSE.md", "/LICENSE.txt"}) {
    if (const auto text = read_text_file(folder + name, card_bytes_max)) {
      const std::string_view license = recognise(*text);
      if (!license.empty()) return std::string(license);
    }
  }
  return "unknown";
}

}  // namespace continuo::weights
