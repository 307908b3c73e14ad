// continuo serve: the HTTP server.
#include <algorithm>
#include <filesystem>

#include "cli/app.h"
#include "cli/model.h"
#include "cli/serve_options.h"
#include "server/server.h"
#include "weights/installed.h"

namespace continuo::cli {

namespace {

/// A model's name: its file's without the ending, as `continuo models` lists it.
std::string id_of(const std::string& path) {
  const std::filesystem::path name = std::filesystem::path(path).filename();
  return name.extension() == ".gguf" ? name.stem().string() : name.string();
}

/// The models of -m, "demo,musicgen-small"; a file whose name has a comma is one model.
Result<std::vector<server::ModelFile>> models_of(const Arguments& arguments, const Context& context) {
  std::vector<server::ModelFile> models;
  std::string rest = arguments.value_or("model", weights::default_model_name);
  const bool one = std::filesystem::exists(std::filesystem::path(rest));
  while (true) {
    const std::size_t end = one ? rest.size() : std::min(rest.find(','), rest.size());
    Arguments asked = arguments;
    asked.set("model", rest.substr(0, end));
    CONTINUO_TRY(std::string path, find_requested_model(asked, context));
    std::string id = id_of(path);
    if (std::any_of(models.begin(), models.end(), [&](const auto& model) { return model.id == id; }))
      return fail(ErrorCode::invalid_argument, "-m names the model {} twice", id);
    models.push_back({std::move(id), std::move(path)});
    if (end == rest.size()) return models;
    rest.erase(0, end + 1);
  }
}

Status run(const Arguments& arguments, const Context& context) {
  CONTINUO_TRY(server::ServerOptions options, read_serve_options(arguments, context));
  CONTINUO_TRY(engine::EngineOptions engine, engine_options(arguments, context));
  CONTINUO_TRY(const std::vector<server::ModelFile> models, models_of(arguments, context));
  options.version = version();
  // The takes there say their prompts too, so a cache beside them tells nobody anything new.
  if (engine.cache_folder.empty()) engine.cache_folder = (std::filesystem::path(options.data_folder) / "conditioning").string();
  return server::serve(options, models, engine);
}

}  // namespace

Command serve_command() {
  Command command{"serve", "the HTTP server: music for programs and web pages"};
  command.options = {
      {"-m,--model", "FILE|NAME", "models to serve, with commas between, the default first (default: demo)"},
      models_folder_option(),
      threads_option(),
      memory_option(),
      kv_option(),
      cache_option(),
  };
  for (const ServeOption& option : serve_options())
    command.options.push_back({fmt::format("--{}", option.name), std::string(option.value), std::string(option.help)});
  command.run = run;
  return command;
}

}  // namespace continuo::cli
