#include <algorithm>
#include <array>
#include <cctype>

#include "server/requests/generate.h"

namespace continuo::server {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Takes the text up to the mark off the front.
std::string_view next(std::string_view& rest, char mark) {
  const std::size_t end = std::min(rest.find(mark), rest.size());
  const std::string_view part = rest.substr(0, end);
  rest.remove_prefix(std::min(end + 1, rest.size()));
  return trimmed(part);
}

/// RFC 9110, 12.4.2: "0" or "1" with up to three decimals, in thousandths. What is not that counts as 1.
int quality(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1') || (text.size() > 1 && text[1] != '.')) return 1000;
  int thousandths = text[0] == '1' ? 1000 : 0;
  int place = 100;
  for (const char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (digit < '0' || digit > '9') return 1000;
    thousandths += (digit - '0') * place;
    place /= 10;
  }
  return std::min(thousandths, 1000);
}

std::optional<audio::FileFormat> format_of(std::string_view type) {
  using audio::FileFormat;
  struct Type {
    std::string_view name;
    FileFormat format;
  };
  static constexpr std::array types{
      Type{"audio/wav", FileFormat::wav},      Type{"audio/x-wav", FileFormat::wav}, Type{"audio/wave", FileFormat::wav},
      Type{"audio/vnd.wave", FileFormat::wav}, Type{"audio/flac", FileFormat::flac}, Type{"audio/x-flac", FileFormat::flac},
      Type{"audio/mpeg", FileFormat::mp3},     Type{"audio/mp3", FileFormat::mp3},   Type{"audio/mp4", FileFormat::m4a},
      Type{"audio/aac", FileFormat::m4a},      Type{"audio/ogg", FileFormat::opus},  Type{"audio/opus", FileFormat::opus}};
  const auto found = std::find_if(types.begin(), types.end(), [&](const Type& entry) { return entry.name == type; });
  if (found == types.end()) return std::nullopt;
  return found->format;
}

}  // namespace

Accepted accepted_by(std::string_view accept) {
  Accepted accepted;
  int json_quality = 0, audio_quality = 0;
  while (!accept.empty()) {
    std::string_view range = next(accept, ',');
    std::string type(next(range, ';'));
    std::transform(type.begin(), type.end(), type.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    int wanted = 1000;
    while (!range.empty()) {
      const std::string_view parameter = next(range, ';');
      if (parameter.starts_with("q=") || parameter.starts_with("Q=")) wanted = quality(parameter.substr(2));
    }
    if (type == "application/json") json_quality = std::max(json_quality, wanted);
    const auto format = format_of(type);
    if (format && wanted > audio_quality) {
      audio_quality = wanted;
      accepted.format = format;
    }
  }
  accepted.json = json_quality > 0 && json_quality >= audio_quality;
  return accepted;
}

}  // namespace continuo::server
