// What a command is. Each has a file of its own that fills in a Command: its options as a table, and the function that runs it.
// The table is all that the parser, the help text and the refusals need; only arguments.cpp includes CLI11, whose header is slow.
//
// Exit codes follow from the error a command returns: invalid_argument is wrong usage (2), cancelled is 130, all others are 1.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/settings.h"

namespace continuo::cli {

struct Option {
  std::string names;  // "-d,--duration"; the long name without dashes is how Arguments knows it
  std::string value;  // what the help calls its value, "SECONDS"; empty for a switch
  std::string help;
  std::string not_yet = {};  // not empty: the option is known, but giving it is refused with this sentence
};

/// The options that came on the command line, unparsed.
class Arguments {
 public:
  bool has(std::string_view long_name) const { return options_.contains(long_name); }
  std::optional<std::string> value(std::string_view long_name) const;
  std::string value_or(std::string_view long_name, std::string otherwise) const;
  const std::vector<std::string>& positionals() const { return positionals_; }

  void set(std::string long_name, std::string value) { options_[std::move(long_name)] = std::move(value); }
  void add_positional(std::string value) { positionals_.push_back(std::move(value)); }

 private:
  std::map<std::string, std::string, std::less<>> options_;
  std::vector<std::string> positionals_;
};

struct Context {
  Settings settings;
  std::string executable;  // where this program lies, for the models beside it
};

struct Positionals {
  std::string name = {};
  std::string help = {};
  int least = 0;
  int most = 0;
};

struct Command {
  std::string name;
  std::string summary;
  Positionals positionals = {};
  std::vector<Option> options = {};
  Status (*run)(const Arguments&, const Context&) = nullptr;
  std::string not_yet = {};  // not empty: the whole command is refused with this sentence
};

Command generate_command();
Command live_command();
Command convert_command();
Command pull_command();
Command info_command();
Command models_command();
Command text_command();
Command codec_command();
Command bench_command();
Command check_command();
Command serve_command();
/// The commands of the contract that a later version brings.
std::vector<Command> later_commands();

/// The machine's flags, shared by every command that loads a model.
Option model_option();
Option models_folder_option();
Option threads_option();
Option memory_option();
Option cache_option();
Option kv_option();

/// The value of a machine flag: the command line's, else the environment's, else the configuration file's.
std::optional<Setting> machine_setting(const Arguments& arguments, const Context& context, std::string_view name);

}  // namespace continuo::cli
