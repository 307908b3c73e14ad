#include "library/search_words.h"

#include <cstdint>
#include <vector>

#include "weights/text_check.h"

namespace continuo::library {

namespace {

constexpr std::size_t most_bytes = 1000;
constexpr std::size_t most_words = 32;

/// Bytes of the character that begins with this byte, in well-formed UTF-8.
std::size_t length_of(unsigned char first) { return first < 0x80 ? 1 : first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4; }

std::uint32_t code_of(std::string_view character) {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint32_t>(static_cast<unsigned char>(character[i])); };
  switch (character.size()) {
    case 1: return byte(0);
    case 2: return (byte(0) & 0x1FU) << 6U | (byte(1) & 0x3FU);
    case 3: return (byte(0) & 0x0FU) << 12U | (byte(1) & 0x3FU) << 6U | (byte(2) & 0x3FU);
    default: return (byte(0) & 0x07U) << 18U | (byte(1) & 0x3FU) << 12U | (byte(2) & 0x3FU) << 6U | (byte(3) & 0x3FU);
  }
}

/// Scripts written without spaces: kana and the ideographs, with their extensions (Unicode's blocks).
bool stands_alone(std::uint32_t code) {
  return (code >= 0x3041 && code <= 0x30FF) || (code >= 0x31F0 && code <= 0x31FF) || (code >= 0x3400 && code <= 0x4DBF) ||
         (code >= 0x4E00 && code <= 0x9FFF) || (code >= 0xF900 && code <= 0xFAFF) || (code >= 0x20000 && code <= 0x3FFFF);
}

/// A space would end the word; so does a control character, which FTS5 might take for the end of the text.
bool separates(std::uint32_t code) { return code <= 0x20 || code == 0x7F || code == 0x3000; }

template <class Take>
void each_character(std::string_view text, const Take& take) {
  while (!text.empty()) {
    const std::string_view character = text.substr(0, length_of(static_cast<unsigned char>(text.front())));
    text.remove_prefix(character.size());
    take(character, code_of(character));
  }
}

}  // namespace

std::string indexed_words(std::string_view text) {
  std::string words;
  if (!weights::valid_utf8(text)) return words;  // never from a prompt that was made into music
  each_character(text, [&](std::string_view character, std::uint32_t code) {
    if (separates(code)) {
      words += ' ';
    } else if (stands_alone(code)) {
      words.append(" ").append(character).append(" ");
    } else {
      words.append(character);
    }
  });
  return words;
}

Result<std::string> match_expression(std::string_view typed) {
  if (!weights::valid_utf8(typed)) return fail(ErrorCode::invalid_argument, "the words to look for are not UTF-8 text");
  if (typed.size() > most_bytes) {
    return fail(ErrorCode::invalid_argument, "the words to look for have {} bytes; at most {} are taken", typed.size(),
                most_bytes);
  }
  std::vector<std::string> words(1);
  each_character(typed, [&](std::string_view character, std::uint32_t code) {
    if (separates(code)) {
      if (!words.back().empty()) words.emplace_back();
    } else {
      words.back().append(character);
    }
  });
  if (words.back().empty()) words.pop_back();
  if (words.size() > most_words) {
    return fail(ErrorCode::invalid_argument, "there are {} words to look for; at most {} are taken", words.size(), most_words);
  }
  std::string expression;
  for (const std::string& word : words) {
    if (!expression.empty()) expression += ' ';
    expression += '"';
    for (const char letter : indexed_words(word)) expression.append(letter == '"' ? 2 : 1, letter);
    expression += '"';
  }
  if (!expression.empty()) expression += '*';
  return expression;
}

}  // namespace continuo::library
