#include "cli/outputs.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <filesystem>

#include "base/file.h"

namespace continuo::cli {

namespace {

constexpr std::size_t max_slug_bytes = 48;
constexpr std::size_t max_slug_words = 6;

/// Splits off the next code point of valid UTF-8 text. (A malformed tail is taken byte by byte; check_prompt came before.)
std::string_view next_character(std::string_view& text) {
  const auto lead = static_cast<unsigned char>(text.front());
  const std::size_t length = lead < 0x80 ? 1 : lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  const std::string_view character = text.substr(0, length);
  text.remove_prefix(character.size());
  return character;
}

/// Letters and digits. Beyond ASCII only letters of the blocks up to U+1FFF and the CJK and Hangul ideographs and kana count:
/// general punctuation (U+2000 to U+2BFF), CJK punctuation, private and full-width characters do not belong in a name.
bool belongs_in_a_name(std::string_view character) {
  if (character.size() == 1) return std::isalnum(static_cast<unsigned char>(character.front())) != 0;
  if (character.size() == 2) return static_cast<unsigned char>(character.front()) >= 0xC3;  // from U+00C0
  const auto first = static_cast<unsigned char>(character[0]);
  const auto second = static_cast<unsigned char>(character[1]);
  if (character.size() != 3) return false;
  return first == 0xE0 || first == 0xE1 || (first == 0xE3 && second >= 0x81) || (first >= 0xE4 && first <= 0xED);
}

std::filesystem::path with_suffix(const std::string& path, const std::string& suffix) {
  const std::filesystem::path whole(path);
  std::filesystem::path name = whole.stem();
  name += suffix;
  name += whole.extension();
  return whole.has_parent_path() ? whole.parent_path() / name : name;
}

}  // namespace

std::string slug(std::string_view prompt) {
  std::string name;
  bool in_word = false;
  std::size_t words = 0;
  while (!prompt.empty()) {
    const std::string_view character = next_character(prompt);
    if (!belongs_in_a_name(character)) {
      // "80's" and "lo-fi" stay together in the first case only; an apostrophe is no gap.
      if (character != "'") in_word = false;
      continue;
    }
    if (!in_word) {
      if (words == max_slug_words) break;
      ++words;
    }
    const bool gap = !in_word && !name.empty();
    if (name.size() + character.size() + (gap ? 1 : 0) > max_slug_bytes) break;
    if (gap) name += '-';
    in_word = true;
    if (character.size() == 1) {
      name += static_cast<char>(std::tolower(static_cast<unsigned char>(character.front())));
    } else {
      name += character;
    }
  }
  return name.empty() ? "music" : name;
}

std::string numbered(const std::string& path, int number) { return with_suffix(path, "-" + std::to_string(number)); }

std::string unused(const std::string& path) {
  std::error_code ignored;
  std::string candidate = path;
  for (int copy = 2; std::filesystem::exists(std::filesystem::symlink_status(candidate, ignored)); ++copy) {
    candidate = with_suffix(path, "_" + std::to_string(copy));
  }
  return candidate;
}

std::vector<std::string> default_outputs(const std::string& folder, const std::vector<std::string>& prompts, std::uint64_t seed,
                                         bool batch) {
  std::vector<std::string> names;
  for (const std::string& prompt : prompts) {
    const std::string name = fmt::format("{}{}-{}.wav", folder, slug(prompt), seed);
    names.push_back(unused(batch ? numbered(name, static_cast<int>(names.size()) + 1) : name));
  }
  return names;
}

Status check_is_wav_name(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::string_view, 8> others{".mp3", ".flac", ".ogg", ".opus", ".m4a", ".aac", ".aiff", ".wma"};
  if (std::find(others.begin(), others.end(), ending) == others.end()) return {};
  return fail(ErrorCode::unsupported, "{}: this command writes WAV only; give the file a name that ends in .wav", path);
}

Status check_writable(const std::string& path) {
  const auto probe = AtomicFile::open(path);
  if (!probe) return forward_error(probe.error());
  return {};
}

}  // namespace continuo::cli
