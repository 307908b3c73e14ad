// The options of `continuo serve`, one table for everything that reads them: the command line, its help, the environment and the
// configuration file (where "--max-queue" is CONTINUO_MAX_QUEUE and max_queue).
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <variant>

#include "cli/command.h"
#include "server/options.h"

namespace continuo::cli {

struct ServeOption {
  using Server = server::ServerOptions;
  using Limits = server::Limits;
  /// Where its value goes; the member's type says how it is written.
  using Target = std::variant<std::string Server::*, std::vector<std::string> Server::*, bool Server::*, int Server::*,
                              double Server::*, int Limits::*, double Limits::*, std::size_t Limits::*, std::int64_t Limits::*>;

  std::string_view name;   // "max-queue"
  std::string_view value;  // what the help calls its value; empty: a switch
  std::string_view help;
  Target target;
  double least = 0.0;  // of numbers and sizes
  double most = 0.0;
};

std::span<const ServeOption> serve_options();

/// What may stand for it in the configuration file.
SettingKind kind_of(const ServeOption& option);

/// The server's options from wherever they are set. Errors (invalid_argument): a value that is none, and what contradicts itself.
Result<server::ServerOptions> read_serve_options(const Arguments& arguments, const Context& context);

}  // namespace continuo::cli
