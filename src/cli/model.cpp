#include "cli/model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <sstream>

#include "cli/machine.h"
#include "cli/numbers.h"
#include "weights/installed.h"

namespace continuo::cli {

namespace {

constexpr int max_threads = 1024;
}  // namespace

Option model_option() { return {"-m,--model", "FILE|NAME", "model file, or the name of an installed one (default: demo)"}; }

Option models_folder_option() {
  return {"--models", "DIR", "folder of installed models (several with ':' between), looked into before the usual ones"};
}

Option threads_option() { return {"--threads", "N", "threads that compute (default: one for each physical core)"}; }

Option memory_option() { return {"--memory", "SIZE", "most memory to use, such as 650M or 4G (default: what is free)"}; }

// Off unless a person names a folder: its files hold prompts as they were typed, which nobody should find on a disk unasked.
Option cache_option() {
  return {"--cache", "DIR", "folder that keeps what the text encoder made of each prompt, and the prompt (default: none)"};
}

Option kv_option() { return {"--kv", "int8|f16|f32", "type of the keys and values in memory (default int8)"}; }

std::optional<Setting> machine_setting(const Arguments& arguments, const Context& context, std::string_view name) {
  if (auto value = arguments.value(name)) return Setting{std::move(*value), fmt::format("--{}", name)};
  std::string setting(name);
  std::replace(setting.begin(), setting.end(), '-', '_');
  return context.settings.find(setting);
}

std::vector<std::string> model_folders(const Arguments& arguments, const Context& context) {
  std::vector<std::string> folders;
  const auto add = [&](std::string folder) {
    if (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
    const bool known = std::find(folders.begin(), folders.end(), folder) != folders.end();
    if (!known && !folder.empty()) folders.push_back(std::move(folder));
  };
  if (const auto chosen = machine_setting(arguments, context, "models")) {
    std::istringstream list(chosen->value);
    for (std::string folder; std::getline(list, folder, ':');) add(std::filesystem::path(folder).lexically_normal().string());
  }
  for (std::string& folder : weights::default_model_dirs(context.executable)) add(std::move(folder));
  return folders;
}

Result<std::string> find_requested_model(const Arguments& arguments, const Context& context) {
  const std::string wanted = arguments.value_or("model", weights::default_model_name);
  if (wanted.empty()) return fail(ErrorCode::invalid_argument, "-m needs the name of a model or a file");
  auto found = weights::find_model(wanted, model_folders(arguments, context));
  if (!found && std::filesystem::is_directory(std::filesystem::path(wanted))) {
    return fail(ErrorCode::unsupported, "{} is a folder; `continuo convert {} -o model.gguf` makes a model file of a checkpoint",
                wanted, wanted);
  }
  return found;
}

Result<OpenedModel> open_requested_model(const Arguments& arguments, const Context& context) {
  OpenedModel model;
  CONTINUO_TRY(model.path, find_requested_model(arguments, context));
  CONTINUO_TRY(model.source, weights::open_model(model.path));
  std::error_code error;
  const auto size = std::filesystem::file_size(model.path, error);
  model.file_bytes = error ? 0 : static_cast<std::int64_t>(size);
  return model;
}

Result<engine::EngineOptions> engine_options(const Arguments& arguments, const Context& context) {
  engine::EngineOptions options;
  if (const auto memory = machine_setting(arguments, context, "memory")) {
    CONTINUO_TRY(options.memory, parse_size(memory->value, memory->origin));
  }
  if (const auto threads = machine_setting(arguments, context, "threads")) {
    CONTINUO_TRY(const auto count, parse_integer(threads->value, threads->origin, 1, max_threads));
    options.threads = static_cast<int>(count);
  }
  if (auto cache = machine_setting(arguments, context, "cache")) {
    if (cache->value.starts_with('~')) {
      return fail(ErrorCode::invalid_argument, "{}: only a shell knows what ~ stands for; write the folder's name in full",
                  cache->origin);
    }
    options.cache_folder = std::move(cache->value);
  }
  if (const auto kv = machine_setting(arguments, context, "kv")) {
    if (kv->value != "f32" && kv->value != "f16" && kv->value != "int8") {
      return fail(ErrorCode::invalid_argument, "{} must be int8, f16 or f32, not '{}'", kv->origin, kv->value);
    }
    options.kv = kv->value;
  }
  return options;
}

bool non_commercial(const std::string& license) { return license.find("NC") != std::string::npos; }

void print_licence_note(const weights::ModelConfig& config) {
  if (!non_commercial(config.license)) return;
  std::fprintf(stderr, "note: the licence of this model (%s) does not allow commercial use\n", config.license.c_str());
}

Status check_memory(const engine::MemoryNeed& need, std::int64_t budget) {
  if (budget > 0 && need.total() > budget) {
    return fail(ErrorCode::out_of_memory,
                "this takes about {} of memory, more than the budget of {} (--memory): {} weights, {} keys and "
                "values, {} else; give more, make fewer clips at once or shorter ones, or use a smaller type",
                human_bytes(need.total()), human_bytes(budget), human_bytes(need.weights), human_bytes(need.keys_values),
                human_bytes(need.activations));
  }
  const auto available = available_memory();
  if (!available || need.total() <= *available) return {};
  return fail(ErrorCode::out_of_memory,
              "this would take about {} of memory and {} are free: make fewer clips at once, or shorter ones",
              human_bytes(need.total()), human_bytes(*available));
}

Result<std::int64_t> parse_size(const std::string& text, const std::string& origin) {
  static const std::map<std::string, double, std::less<>> units = {
      {"", 1.0},   {"K", 1024.0}, {"KiB", 1024.0}, {"M", 1048576.0},    {"MiB", 1048576.0},
      {"KB", 1e3}, {"MB", 1e6},   {"GB", 1e9},     {"G", 1073741824.0}, {"GiB", 1073741824.0}};
  const std::size_t letters = std::min(text.find_first_not_of("0123456789."), text.size());
  const auto unit = units.find(text.substr(letters));
  const auto number = parse_number(text.substr(0, letters), origin, 0.0, 1e15);
  if (!number || unit == units.end() || *number * unit->second < 1.0 || *number * unit->second > 1e15) {
    return fail(ErrorCode::invalid_argument, "{} must be a size such as 650M or 4G, not '{}'", origin, text);
  }
  return static_cast<std::int64_t>(*number * unit->second);
}

}  // namespace continuo::cli
