#include "cli/app.h"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <new>

#include "cli/arguments.h"
#include "cli/command.h"
#include "cli/interrupt.h"
#include "cli/machine.h"

namespace continuo::cli {

namespace {

enum ExitCode { exit_done = 0, exit_failed = 1, exit_usage = 2, exit_interrupted = 130 };

std::vector<Command> all_commands() {
  std::vector<Command> commands{generate_command(), live_command(),  models_command(), pull_command(),
                                convert_command(),  info_command(),  codec_command(),  text_command(),
                                bench_command(),    check_command(), serve_command()};
  for (Command& later : later_commands()) commands.push_back(std::move(later));
  return commands;
}

void print_help(const std::vector<Command>& commands, std::FILE* stream) {
  std::fprintf(stream,
               "continuo %s: music from text\n\n"
               "  continuo generate \"lofi beat with a soft piano\"\n\nCommands\n",
               version().c_str());
  for (const Command& command : commands) {
    if (command.not_yet.empty()) std::fprintf(stream, "  %-10s%s\n", command.name.c_str(), command.summary.c_str());
  }
  std::fprintf(stream, "\ncontinuo COMMAND --help says more about each; continuo --version prints the version.\n");
}

int report(const Error& error) {
  std::fprintf(stderr, "continuo: %s\n", error.message.c_str());
  switch (error.code) {
    case ErrorCode::invalid_argument: return exit_usage;
    case ErrorCode::cancelled: return exit_interrupted;
    default: return exit_failed;
  }
}

Status run_command(const Command& command, std::span<const std::string> words) {
  CONTINUO_TRY(const Parsed parsed, parse_arguments(command, words));
  if (!parsed.help.empty()) {
    std::fputs(parsed.help.c_str(), stdout);
    return {};
  }
  Context context;
  CONTINUO_TRY(context.settings, Settings::load([](const char* name) { return std::getenv(name); }));
  context.executable = executable_path();
  try {
    return command.run(parsed.arguments, context);
  } catch (const std::bad_alloc&) {
    return fail(ErrorCode::io, "out of memory: make fewer clips at once, or shorter ones");
  } catch (const std::exception& error) {
    return fail(ErrorCode::io, "{}", error.what());
  }
}

int dispatch(std::span<const std::string> words) {
  const std::vector<Command> commands = all_commands();
  if (words.empty()) {
    print_help(commands, stderr);
    return exit_usage;
  }
  std::string first = words.front();
  auto rest = words.subspan(1);
  if (first == "--version" || first == "-V" || first == "version") {
    std::printf("continuo %s\n", version().c_str());
    return exit_done;
  }
  const bool help = first == "help" || first == "--help" || first == "-h";
  const std::vector<std::string> ask_for_help{"--help"};
  if (help && rest.empty()) {
    print_help(commands, stdout);
    return exit_done;
  }
  if (help) {  // continuo help generate
    first = rest.front();
    rest = ask_for_help;
  }
  const auto command = std::find_if(commands.begin(), commands.end(), [&](const Command& c) { return c.name == first; });
  if (command == commands.end()) {
    return report(Error{ErrorCode::invalid_argument, fmt::format("there is no command '{}'; continuo --help lists them", first)});
  }
  const auto status = run_command(*command, rest);
  return status ? exit_done : report(status.error());
}

}  // namespace

int run(std::span<const std::string> words) {
  install_interrupt_handlers();
  const int code = dispatch(words);
  // A full disk or a closed pipe behind standard output must not look like success.
  const bool written = std::fflush(stdout) == 0 && std::ferror(stdout) == 0;
  return code == exit_done && !written ? report(Error{ErrorCode::io, "cannot write to standard output"}) : code;
}

}  // namespace continuo::cli
