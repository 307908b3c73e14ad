// The program: picks the command, runs it, turns its outcome into a line and an exit code.
#pragma once

#include <span>
#include <string>

namespace continuo::cli {

/// words: the command line without the program's name. Returns the exit code: 0 done, 1 could not be done, 2 wrong usage,
/// 130 interrupted.
int run(std::span<const std::string> words);

std::string version();

}  // namespace continuo::cli
