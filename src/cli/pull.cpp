// continuo pull: a model from the hub, downloaded, checked, converted and installed.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "cli/app.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/progress.h"
#include "cli/transfer.h"
#include "cli/weight_type.h"
#include "weights/pull.h"

namespace continuo::cli {

namespace {

constexpr int max_tries = 100;
constexpr int max_timeout_seconds = 3600;
constexpr std::size_t max_name_bytes = 96;

std::string terms_of(const std::string& license) {
  if (license.empty()) return "the hub does not say its licence; read the model's page before you use it";
  return fmt::format("licence {}{}", license, non_commercial(license) ? ": no commercial use" : "");
}

/// A name that becomes a file in the models' folder.
Status check_name(const std::string& name) {
  const bool plain = !name.empty() && name.size() <= max_name_bytes && name.front() != '.' && name.front() != '-' &&
                     name.find_first_of("/\\:") == std::string::npos &&
                     std::none_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7F; });
  if (plain) return {};
  return fail(ErrorCode::invalid_argument, "--name must be a short file name without slashes and colons, not '{}'", name);
}

Result<weights::PullOptions> pull_options(const Arguments& arguments, const Context& context) {
  weights::PullOptions options;
  const auto environment = [](const char* name) { return std::getenv(name); };
  CONTINUO_TRY(options.type, parse_weight_type(arguments.value_or("type", "f32")));
  if (const auto name = arguments.value("name")) {
    CONTINUO_CHECK(check_name(*name));
    options.name = *name;
  }
  if (const auto timeout = arguments.value("timeout")) {
    CONTINUO_TRY(const auto seconds, parse_integer(*timeout, "--timeout", 1, max_timeout_seconds));
    options.hub.stall = std::chrono::seconds(seconds);
  }
  if (const auto tries = arguments.value("tries")) {
    CONTINUO_TRY(const auto count, parse_integer(*tries, "--tries", 1, max_tries));
    options.hub.retry.tries = static_cast<int>(count);
  }
  options.t5 = arguments.value_or("t5", "");
  options.keep = arguments.has("keep");
  options.cancelled = interrupted;
  options.hub.user_agent = "continuo/" + version();
  CONTINUO_TRY(options.hub.settings, weights::hub_settings(environment));
  CONTINUO_TRY(options.cache, weights::default_pull_cache(environment));
  const auto folders = model_folders(arguments, context);
  if (folders.empty()) return fail(ErrorCode::invalid_argument, "say where the model goes: --models DIR");
  options.models = folders.front();
  return options;
}

void print_json(const weights::Pulled& pulled) {
  const nlohmann::ordered_json json{{"name", pulled.name},          {"path", pulled.path},
                                    {"bytes", pulled.bytes},        {"license", pulled.license},
                                    {"source", pulled.source},      {"downloaded_bytes", pulled.downloaded},
                                    {"was_there", pulled.was_there}};
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const weights::Pulled& pulled) {
  const std::string size = human_bytes(static_cast<std::int64_t>(pulled.bytes));
  std::printf("%s  %s%s\n", pulled.path.c_str(), size.c_str(), pulled.was_there ? "  (installed already, and up to date)" : "");
  std::printf("use it: continuo generate \"lofi beat with a soft piano\" -m %s\n", pulled.name.c_str());
}

Status run(const Arguments& arguments, const Context& context) {
  CONTINUO_TRY(const auto name, weights::parse_hub_name(arguments.positionals().front()));
  CONTINUO_TRY(auto options, pull_options(arguments, context));
  ProgressDisplay display(stderr, progress_on_terminal());
  TransferMeter meter;
  const auto note = [&](const std::string& text) {
    display.clear();
    std::fprintf(stderr, "note: %s\n", text.c_str());
  };
  options.hub.retry.notice = note;
  options.planned = [&](const weights::PullPlan& plan) {
    note(fmt::format("{}, {}", plan.source, terms_of(plan.license)));
    if (plan.bytes_there > 0)
      note(fmt::format("{} of it are there from an earlier try", human_bytes(static_cast<std::int64_t>(plan.bytes_there))));
  };
  options.progress = [&](weights::PullStage stage, const std::string& what, std::uint64_t done, std::uint64_t total) {
    const double share = total > 0 ? static_cast<double>(done) / static_cast<double>(total) : 1.0;
    switch (stage) {
      case weights::PullStage::downloading: return display.show(meter.text(done, total), share);
      case weights::PullStage::checking: return display.show("checking " + what, share);
      case weights::PullStage::converting: return display.show("converting", share);
    }
  };
  const auto pulled = weights::pull(name, options);
  display.clear();
  if (!pulled && pulled.error().code == ErrorCode::cancelled) {
    return fail(ErrorCode::cancelled, "interrupted; what has arrived is kept, and the same command continues there");
  }
  if (!pulled) return forward_error(pulled.error());
  if (arguments.has("json")) {
    print_json(*pulled);
  } else {
    print_text(*pulled);
  }
  return {};
}

}  // namespace

Command pull_command() {
  Command command{"pull", "download, convert and install a model of the hub"};
  command.positionals = {"OWNER/NAME[@REVISION]", "facebook/musicgen-small, for example", 1, 1};
  command.options = {
      {"--type", "TYPE", "type of the matrices: f32 (default), f16, bf16, q8_0, q4_0 or q4_k"},
      {"--name", "NAME", "what the installed model is called (default: its name on the hub)"},
      {"--t5", "DIR", "T5's folder, for a checkpoint in audiocraft's layout"},
      {"--keep", "", "keep the downloaded files after the conversion"},
      {"--timeout", "SECONDS", "give a silent connection up after that long (default 30)"},
      {"--tries", "N", "how often a broken download is tried in a row (default 5)"},
      {"--json", "", "print one JSON object"},
      models_folder_option(),
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
