// Commands of the contract (docs/cli.md) that do not exist yet. Each is refused with a sentence of its own, never as a typing
// mistake.
#include "cli/command.h"

namespace continuo::cli {

std::vector<Command> later_commands() {
  const auto later = [](std::string name, std::string summary, std::string instead) {
    Command command{std::move(name), std::move(summary)};
    command.not_yet = fmt::format("'{}' is not in this version; {}", command.name, instead);
    return command;
  };
  return {
      later("score", "write a score with NotaGen", "'generate' makes music as audio"),
  };
}

}  // namespace continuo::cli
