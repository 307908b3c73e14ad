// continuo text: a prompt as the model sees it.
#include <cstdio>

#include "audio/npy.h"
#include "cli/model.h"
#include "cli/outputs.h"
#include "cli/prompts.h"

namespace continuo::cli {

namespace {

Status run(const Arguments& arguments, const Context& context) {
  const std::string& prompt = arguments.positionals().front();
  CONTINUO_CHECK(check_prompt(prompt));
  CONTINUO_TRY(const engine::EngineOptions options, engine_options(arguments, context));
  const auto hidden_output = arguments.value("hidden-out");
  if (hidden_output) CONTINUO_CHECK(check_writable(*hidden_output));
  CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(model.source), options));
  CONTINUO_TRY(const std::vector<int> ids, engine->tokenize(prompt));
  if (hidden_output) {
    CONTINUO_TRY(const std::vector<float> hidden, engine->encode_text(ids));
    const auto tokens = static_cast<std::int64_t>(ids.size());
    const std::vector<std::int64_t> shape{tokens, static_cast<std::int64_t>(hidden.size()) / tokens};
    CONTINUO_CHECK(audio::write_npy(*hidden_output, shape, hidden));
  }
  if (arguments.has("json")) {
    std::printf("%s\n", fmt::format("{{\"ids\": [{}]}}", fmt::join(ids, ", ")).c_str());
  } else {
    std::printf("%s\n", fmt::format("{}", fmt::join(ids, " ")).c_str());
  }
  return {};
}

}  // namespace

Command text_command() {
  Command command{"text", "token ids of a prompt, and the text encoder's output"};
  command.positionals = {"PROMPT", "the prompt", 1, 1};
  command.options = {
      model_option(),
      {"--json", "", "print one JSON object"},
      {"--hidden-out", "FILE.npy", "write T5's last hidden state, float32 [tokens, width]"},
      threads_option(),
      models_folder_option(),
      memory_option(),
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
