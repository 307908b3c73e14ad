// Words as the full-text search (SQLite's FTS5) keeps and takes them.
//
// FTS5 cuts text into words at spaces and punctuation. Chinese and Japanese have none between words, so that a whole sentence
// would be one word, found by its beginning only. Their characters are kept as words of one character each, and asked for as
// phrases: any run of characters is found wherever it stands.
#pragma once

#include <string>
#include <string_view>

#include "base/error.h"

namespace continuo::library {

/// Text as it is kept for the search.
std::string indexed_words(std::string_view text);

/// What a person typed, as an expression for MATCH: takes that have all the words, in any order, the last one perhaps only begun.
/// No character means anything but itself. Empty: there is nothing in it to look for. Errors: not UTF-8, too long, too many
/// words.
Result<std::string> match_expression(std::string_view typed);

}  // namespace continuo::library
