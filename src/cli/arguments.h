// Parses the command line of one command. Wrong usage is an invalid_argument; an option that this version only knows by name is
// `unsupported`, with its own sentence.
#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace continuo::cli {

struct Parsed {
  Arguments arguments;
  std::string help;  // not empty: the person asked for it, and it is all there is to print
};

/// words: what follows the command's name.
Result<Parsed> parse_arguments(const Command& command, std::span<const std::string> words);

}  // namespace continuo::cli
