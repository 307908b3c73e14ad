#include "cli/model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <sstream>

#include "cli/machine.h"
#include "cli/numbers.h"
#include "weights/installed.h"

namespace continuo::cli {

namespace {

constexpr int max_threads = 1024;
/// Buffers that live at the same time in the codec: a layer's input, its output, a residual.
constexpr std::int64_t codec_buffers = 3;
/// Frames that its convolutions see at once, at most, context included (codec/encoder.h; the decoder needs less); the encoder's
/// LSTM sees all.
constexpr std::int64_t codec_window_frames = 80;

}  // namespace

Option model_option() { return {"-m,--model", "FILE|NAME", "model file, or the name of an installed one (default: demo)"}; }

Option models_folder_option() {
  return {"--models", "DIR", "folder of installed models (several with ':' between), looked into before the usual ones"};
}

Option threads_option() { return {"--threads", "N", "threads that compute (default: one for each physical core)"}; }

Option memory_option() {
  return {"--memory", "SIZE", "memory budget", "a memory budget (--memory) is not in this version; leave it out"};
}

Option kv_option() { return {"--kv", "int8|f16|f32", "type of the keys and values in memory (default int8)"}; }

std::optional<Setting> machine_setting(const Arguments& arguments, const Context& context, std::string_view name) {
  if (auto value = arguments.value(name)) return Setting{std::move(*value), fmt::format("--{}", name)};
  return context.settings.find(name);
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
  if (const auto memory = context.settings.find("memory")) {
    return fail(ErrorCode::unsupported, "{}: a memory budget is not in this version; remove the setting", memory->origin);
  }
  if (const auto threads = machine_setting(arguments, context, "threads")) {
    CONTINUO_TRY(const auto count, parse_integer(threads->value, threads->origin, 1, max_threads));
    options.threads = static_cast<int>(count);
  }
  if (const auto kv = arguments.value("kv")) {
    if (*kv != "f32" && *kv != "f16" && *kv != "int8") {
      return fail(ErrorCode::invalid_argument, "--kv must be int8, f16 or f32, not '{}'", *kv);
    }
    options.kv = *kv;
  }
  return options;
}

bool non_commercial(const std::string& license) { return license.find("NC") != std::string::npos; }

void print_licence_note(const weights::ModelConfig& config) {
  if (!non_commercial(config.license)) return;
  std::fprintf(stderr, "note: the licence of this model (%s) does not allow commercial use\n", config.license.c_str());
}

MemoryNeed memory_need(const weights::ModelConfig& config, std::int64_t weight_bytes, int clips, double seconds, bool guided,
                       std::string_view kv, int text_tokens) {
  const auto frames = static_cast<std::int64_t>(std::ceil(seconds * config.codec.frame_rate()));
  const std::int64_t prefix = config.is_melody() ? config.melody.length + text_tokens : 0;
  const std::int64_t positions = prefix + frames + config.decoder.codebooks;
  const std::int64_t width = config.decoder.width;
  const std::int64_t vector_bytes = kv == "f32" ? 4 * width : kv == "f16" ? 2 * width : width + 4 * config.decoder.heads;
  const std::int64_t of_one_clip = (guided ? 2 : 1) * positions * config.decoder.layers * 2 * vector_bytes;
  const std::int64_t sound = frames * config.codec.hop() * config.decoder.audio_channels * clips;  // values, as the next two
  const std::int64_t window = std::min(frames, codec_window_frames) * config.codec.hop() * config.codec.filters;
  const std::int64_t latents = frames * (static_cast<std::int64_t>(config.codec.filters) << config.codec.ratios.size());
  MemoryNeed need;
  need.weights = weight_bytes;
  need.keys_values = std::min(of_one_clip * clips, std::max(of_one_clip, engine::most_default_kv_bytes));
  need.activations = (sound + codec_buffers * (window + latents)) * static_cast<std::int64_t>(sizeof(float));
  return need;
}

Status check_memory(const MemoryNeed& need) {
  const auto available = available_memory();
  if (!available || need.total() <= *available) return {};
  return fail(ErrorCode::unsupported,
              "this would take about {} of memory and {} are free: make fewer clips at once, or shorter ones",
              human_bytes(need.total()), human_bytes(*available));
}

}  // namespace continuo::cli
