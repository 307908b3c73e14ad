// continuo convert: a checkpoint becomes one model file.
#include <cstdio>
#include <filesystem>

#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/weight_type.h"
#include "weights/convert.h"

namespace continuo::cli {

namespace {

namespace fs = std::filesystem;

Status run(const Arguments& arguments, const Context& /*context*/) {
  const std::string& source = arguments.positionals().front();
  const auto output = arguments.value("output");
  if (!output || output->empty()) return fail(ErrorCode::invalid_argument, "say where the model file goes: -o FILE.gguf");
  weights::ConvertOptions options;
  CONTINUO_TRY(options.type, parse_weight_type(arguments.value_or("type", "f32")));
  options.license = arguments.value_or("license", "");
  options.name = arguments.value_or("name", "");
  options.source = arguments.value_or("source", "");
  options.t5 = arguments.value_or("t5", "");
  options.cancelled = interrupted;
  ProgressDisplay display(stderr, progress_on_terminal());
  options.progress = [&](double share) { display.show("converting", share); };
  CONTINUO_CHECK(check_writable(*output));
  const auto status = weights::convert(source, *output, options);
  display.clear();
  if (!status && status.error().code == ErrorCode::cancelled)
    return fail(ErrorCode::cancelled, "interrupted; nothing was written");
  if (!status) return status;
  std::error_code error;
  const auto size = fs::file_size(*output, error);
  std::printf("%s  %s\n", output->c_str(), human_bytes(error ? 0 : static_cast<std::int64_t>(size)).c_str());
  CONTINUO_TRY(const auto written, weights::open_model(*output));
  print_licence_note(written->config());
  if (written->config().license == "unknown") {
    std::fprintf(stderr,
                 "note: the source does not say its licence; MusicGen's published weights are CC-BY-NC-4.0 (no commercial use), "
                 "--license CC-BY-NC-4.0 writes that into the file\n");
  }
  return {};
}

}  // namespace

Command convert_command() {
  Command command{"convert", "make a model file of a checkpoint"};
  command.positionals = {"SOURCE",
                         "a Hugging Face model folder, or an audiocraft one (state_dict.bin, compression_state_dict.bin)", 1, 1};
  command.options = {
      {"-o,--output", "FILE.gguf", "the file to write"},
      {"--type", "TYPE", "type of the matrices: f32 (default), f16, bf16, q8_0, q4_0, q4_k"},
      {"--license", "NAME", "the weights' licence, to be kept in the file (CC-BY-NC-4.0 for MusicGen's published ones)"},
      {"--name", "NAME", "what people call the model"},
      {"--source", "TEXT", "where the weights came from"},
      {"--t5", "DIR", "the text encoder of an audiocraft folder: a Hugging Face folder of T5 (t5-base for the published models)"},
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
