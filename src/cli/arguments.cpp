#include "cli/arguments.h"

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>

namespace continuo::cli {

namespace {

// CLI11 takes a word like "[intro,outro]" apart as a list. Prompts are text, so such words travel with a mark in front.
constexpr char mark = '\x01';

std::string marked(const std::string& word) { return word.starts_with('[') ? mark + word : word; }

std::string unmarked(const std::string& word) { return word.starts_with(mark) ? word.substr(1) : word; }

std::string long_name(const Option& option) {
  const std::size_t at = option.names.find("--");
  return option.names.substr(at + 2);
}

std::string help_text(const Option& option) {
  return option.not_yet.empty() ? option.help : fmt::format("{} (not in this version)", option.help);
}

tl::unexpected<Error> usage_error(const Command& command, const std::string& message) {
  return fail(ErrorCode::invalid_argument, "{} (continuo {} --help shows how it is used)", message, command.name);
}

Status refuse_what_is_not_there_yet(const Command& command, const Arguments& arguments) {
  for (const Option& option : command.options) {
    if (!option.not_yet.empty() && arguments.has(long_name(option))) return fail(ErrorCode::unsupported, "{}", option.not_yet);
  }
  return {};
}

}  // namespace

std::optional<std::string> Arguments::value(std::string_view name) const {
  const auto found = options_.find(name);
  return found == options_.end() ? std::nullopt : std::optional(found->second);
}

std::string Arguments::value_or(std::string_view name, std::string otherwise) const {
  return value(name).value_or(std::move(otherwise));
}

Result<Parsed> parse_arguments(const Command& command, std::span<const std::string> words) {
  Parsed parsed;
  if (!command.not_yet.empty()) {
    const bool help = std::any_of(words.begin(), words.end(), [](const auto& word) { return word == "--help" || word == "-h"; });
    if (!help) return fail(ErrorCode::unsupported, "{}", command.not_yet);
    parsed.help = fmt::format("{}\n{}\n", command.summary, command.not_yet);
    return parsed;
  }
  CLI::App app(command.summary, "continuo " + command.name);
  app.get_formatter()->column_width(32);
  std::vector<std::pair<const Option*, CLI::Option*>> options;
  for (const Option& option : command.options) {
    CLI::Option* added = option.value.empty() ? app.add_flag(option.names) : app.add_option(option.names, CLI::callback_t());
    added->description(help_text(option))->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);  // counted below
    if (option.value.empty()) added->disable_flag_override();
    if (!option.value.empty()) added->type_name(option.value)->type_size(1)->expected(1);
    options.emplace_back(&option, added);
  }
  CLI::Option* positional = nullptr;
  if (command.positionals.most > 0) {
    positional = app.add_option(command.positionals.name, CLI::callback_t(), command.positionals.help);
    positional->type_name("")->type_size(1)->expected(0,
                                                      command.positionals.most > 1 ? CLI::detail::expected_max_vector_size : 1);
    positional->allow_extra_args(true)->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
  }
  std::vector<std::string> reversed;  // the order CLI11 wants
  for (const std::string& word : words) reversed.push_back(marked(word));
  std::reverse(reversed.begin(), reversed.end());
  try {
    app.parse(reversed);
  } catch (const CLI::CallForHelp&) {
    parsed.help = app.help();
    return parsed;
  } catch (const CLI::ParseError& error) {
    std::string message = error.what();
    std::erase(message, mark);
    return usage_error(command, message);
  }
  for (const auto& [option, added] : options) {
    if (added->count() > 1 && !option->value.empty())
      return usage_error(command, fmt::format("{} is given more than once", option->names));
    if (added->count() > 0) parsed.arguments.set(long_name(*option), option->value.empty() ? "" : unmarked(added->results()[0]));
  }
  const int given = positional == nullptr ? 0 : static_cast<int>(positional->results().size());
  if (given < command.positionals.least) return usage_error(command, fmt::format("{} is missing", command.positionals.name));
  if (given > command.positionals.most) {
    return usage_error(command, fmt::format("{} {}s are too many; quote what belongs together", given, command.positionals.name));
  }
  for (int i = 0; i < given; ++i) parsed.arguments.add_positional(unmarked(positional->results()[static_cast<std::size_t>(i)]));
  CONTINUO_CHECK(refuse_what_is_not_there_yet(command, parsed.arguments));
  return parsed;
}

}  // namespace continuo::cli
