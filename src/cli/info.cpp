// continuo info: what is in a model file.
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "cli/model.h"
#include "cli/numbers.h"
#include "weights/gguf_file.h"

namespace continuo::cli {

namespace {

struct TypeCount {
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
};

struct Inventory {
  std::map<std::string, TypeCount> types;
  std::int64_t tensors = 0;
  std::int64_t bytes = 0;
  std::int64_t parameters = 0;
};

Inventory inventory_of(const weights::GgufFile& file) {
  Inventory inventory;
  for (const weights::GgufTensor& tensor : file.tensors()) {
    const auto bytes = static_cast<std::int64_t>(tensor.data.size());
    TypeCount& type = inventory.types[std::string(tensor.type.name)];
    ++type.tensors;
    type.bytes += bytes;
    ++inventory.tensors;
    inventory.bytes += bytes;
    inventory.parameters += tensor.shape.elements();
  }
  return inventory;
}

double window_seconds(const weights::ModelConfig& config) { return config.decoder.max_frames / config.codec.frame_rate(); }

void print_json(const OpenedModel& model, const Inventory& inventory, const engine::MemoryNeed& need) {
  const weights::ModelConfig& config = model.config();
  nlohmann::ordered_json types = nlohmann::ordered_json::object();
  for (const auto& [name, count] : inventory.types) types[name] = {{"tensors", count.tensors}, {"bytes", count.bytes}};
  const nlohmann::ordered_json json{
      {"path", model.path},
      {"architecture", "musicgen"},
      {"name", config.name},
      {"description", config.description},
      {"license", config.license},
      {"source", config.source},
      {"file_bytes", model.file_bytes},
      {"tensors", inventory.tensors},
      {"tensor_bytes", inventory.bytes},
      {"parameters", inventory.parameters},
      {"types", types},
      {"decoder",
       {{"width", config.decoder.width},
        {"layers", config.decoder.layers},
        {"heads", config.decoder.heads},
        {"feed_forward", config.decoder.feed_forward},
        {"codebooks", config.decoder.codebooks},
        {"codebook_size", config.decoder.codebook_size},
        {"max_frames", config.decoder.max_frames},
        {"audio_channels", config.decoder.audio_channels}}},
      {"text", {{"width", config.text.width}, {"layers", config.text.layers}, {"heads", config.text.heads}}},
      {"codec",
       {{"sample_rate", config.codec.sample_rate},
        {"frame_rate", config.codec.frame_rate()},
        {"hop", config.codec.hop()},
        {"filters", config.codec.filters},
        {"width", config.codec.width},
        {"lstm_layers", config.codec.lstm_layers}}},
      {"defaults",
       {{"guidance", config.defaults.guidance},
        {"temperature", config.defaults.temperature},
        {"top_k", config.defaults.top_k},
        {"top_p", config.defaults.top_p}}},
      {"window_seconds", window_seconds(config)},
      {"memory",
       {{"weights_bytes", need.weights},
        {"kv_bytes", need.keys_values},
        {"activations_bytes", need.activations},
        {"total_bytes", need.total()}}},
  };
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const OpenedModel& model, const Inventory& inventory, const engine::MemoryNeed& need) {
  const weights::ModelConfig& config = model.config();
  const auto line = [](const char* label, const std::string& value) { std::printf("%-14s%s\n", label, value.c_str()); };
  line("model", fmt::format("{} ({})", config.name, model.path));
  if (!config.description.empty()) line("about", config.description);
  line("architecture", "musicgen: text to audio");
  line("licence", config.license.empty() ? "unknown" : config.license);
  if (!config.source.empty()) line("source", config.source);
  line("size", fmt::format("{} in {} tensors, {:.1f} M parameters", human_bytes(model.file_bytes), inventory.tensors,
                           static_cast<double>(inventory.parameters) / 1e6));
  std::string types;
  for (const auto& [name, count] : inventory.types) {
    types += fmt::format("{}{} x{} ({})", types.empty() ? "" : ", ", name, count.tensors, human_bytes(count.bytes));
  }
  line("types", types);
  line("decoder", fmt::format("width {}, {} layers, {} heads, {} codebooks of {}", config.decoder.width, config.decoder.layers,
                              config.decoder.heads, config.decoder.codebooks, config.decoder.codebook_size));
  line("text encoder", fmt::format("width {}, {} layers, {} heads", config.text.width, config.text.layers, config.text.heads));
  line("codec",
       fmt::format("{} Hz {}, {:g} frames a second, {} filters", config.codec.sample_rate,
                   config.decoder.audio_channels == 2 ? "stereo" : "mono", config.codec.frame_rate(), config.codec.filters));
  line("window", fmt::format("{:g} s", window_seconds(config)));
  line("defaults", fmt::format("guidance {:g}, temperature {:g}, top-k {}, top-p {:g}", config.defaults.guidance,
                               config.defaults.temperature, config.defaults.top_k, config.defaults.top_p));
  line("memory", fmt::format("about {} for one request of {:g} s: weights {}, keys and values {}, the program and its buffers {}",
                             human_bytes(need.total()), window_seconds(config), human_bytes(need.weights),
                             human_bytes(need.keys_values), human_bytes(need.activations)));
}

Status run(const Arguments& arguments, const Context& context) {
  Arguments asked = arguments;
  asked.set("model", arguments.positionals().front());  // a name of an installed model will do as well as a file
  CONTINUO_TRY(const OpenedModel model, open_requested_model(asked, context));
  CONTINUO_TRY(const weights::GgufFile file, weights::GgufFile::open(model.path));
  const Inventory inventory = inventory_of(file);
  const bool guided = model.config().defaults.guidance != 1.0F;
  engine::MemoryAsk ask;
  ask.seconds = window_seconds(model.config());
  ask.guided = guided;
  const engine::MemoryNeed need = memory_need(model.config(), engine::resident_weight_bytes(*model.source, false), ask);
  if (arguments.has("json")) {
    print_json(model, inventory, need);
  } else {
    print_text(model, inventory, need);
  }
  return {};
}

}  // namespace

Command info_command() {
  Command command{"info", "what is in a model file"};
  command.positionals = {"FILE", "a model file, or the name of an installed model", 1, 1};
  command.options = {{"--json", "", "print one JSON object"}, models_folder_option()};
  command.run = run;
  return command;
}

}  // namespace continuo::cli
