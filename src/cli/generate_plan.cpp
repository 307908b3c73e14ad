#include "cli/generate_plan.h"

#include <algorithm>
#include <limits>
#include <random>

#include "cli/level.h"
#include "cli/numbers.h"
#include "cli/outputs.h"
#include "cli/prompts.h"
#include "cli/relay.h"

namespace continuo::cli {

namespace {

constexpr double max_seconds = engine::longest_seconds;

Result<double> parse_seconds(const std::string& text) {
  const auto seconds = parse_number(text, "-d", 0.0, max_seconds);
  if (!seconds || *seconds == 0.0) {
    return fail(ErrorCode::invalid_argument, "-d must be a plain number of seconds above 0 and up to {:g} s, not '{}'",
                max_seconds, text);
  }
  return seconds;
}

/// 32 bits, so that a person can type it again.
std::uint64_t drawn_seed() { return std::random_device{}(); }

Status read_sampling(const Arguments& arguments, GeneratePlan& plan) {
  if (const auto text = arguments.value("temperature")) {
    CONTINUO_TRY(plan.temperature, parse_number(*text, "--temperature", 0.0, 100.0));
  }
  if (const auto text = arguments.value("top-k")) {
    auto top_k = parse_integer(*text, "--top-k", 0, std::numeric_limits<int>::max());
    if (!top_k) {
      return fail(ErrorCode::invalid_argument,
                  "--top-k must be a whole number from 0 (no cut) to the size of the model's codebooks (2048 is usual), not '{}'",
                  *text);
    }
    plan.top_k = static_cast<int>(*top_k);
  }
  if (const auto text = arguments.value("top-p")) {
    CONTINUO_TRY(plan.top_p, parse_number(*text, "--top-p", 0.0, 1.0));
  }
  if (const auto text = arguments.value("guidance")) {
    CONTINUO_TRY(plan.guidance, parse_number(*text, "--guidance", 0.0, 100.0));
  }
  if (const auto name = arguments.value("strategy")) {
    if (*name == "beam") return fail(ErrorCode::unsupported, "--strategy beam is not in this version; use sample or greedy");
    if (*name != "sample" && *name != "greedy") {
      return fail(ErrorCode::invalid_argument, "--strategy must be sample or greedy, not '{}'", *name);
    }
    plan.strategy = *name == "greedy" ? engine::Strategy::greedy : engine::Strategy::sample;
  }
  return {};
}

/// The prompts' lengths are in the file, so the piece's is, too.
Status read_relay_arguments(const std::string& file, const Arguments& arguments, GeneratePlan& plan) {
  if (const auto text = arguments.value("crossfade")) {
    CONTINUO_TRY(plan.crossfade, parse_number(*text, "--crossfade", 0.02, 10.0));
  }
  if (arguments.has("prompts") || !arguments.positionals().empty()) {
    return fail(ErrorCode::invalid_argument, "the prompts are in the file of --relay; give no others");
  }
  if (arguments.has("duration")) {
    return fail(ErrorCode::invalid_argument, "the file of --relay says how long each prompt lasts; leave -d out");
  }
  CONTINUO_TRY(plan.relay, read_relay(file));
  if (has_crossfades(plan.relay) && arguments.has("codes-out")) {
    return fail(ErrorCode::invalid_argument,
                "--codes-out cannot hold a relay with crossfades, whose parts are codes of their own; use continue: instead");
  }
  if (plan.crossfade && !has_crossfades(plan.relay)) {
    return fail(ErrorCode::invalid_argument, "--crossfade is for lines with crossfade:, and {} has none", file);
  }
  plan.seconds = 0.0;
  for (const engine::Segment& segment : plan.relay) plan.seconds += segment.seconds;
  plan.prompts = {plan.relay.front().prompt};
  plan.batch = plan.takes > 1;
  return {};
}

Status read_stream_arguments(const Arguments& arguments, audio::SampleFormat samples, GeneratePlan& plan) {
  if (!arguments.has("stream")) {
    if (arguments.has("stream-format")) return fail(ErrorCode::invalid_argument, "--stream-format is for --stream");
    return {};
  }
  CONTINUO_TRY(plan.stream, parse_stream_format(arguments.value_or("stream-format", "s16le"), samples));
  if (plan.prompts.size() * static_cast<std::size_t>(plan.takes) > 1) {
    return fail(ErrorCode::invalid_argument, "--stream plays one clip; give one prompt and no --takes");
  }
  for (const Option& option : finish_options()) {
    const std::string name = option.names.substr(2);
    if (arguments.has(name))
      return fail(ErrorCode::invalid_argument, "--{} is for files; a --stream is the model's own sound", name);
  }
  plan.batch = false;
  return check_stream_output();
}

Status read_prompt_arguments(const Arguments& arguments, GeneratePlan& plan) {
  if (const auto relay = arguments.value("relay")) return read_relay_arguments(*relay, arguments, plan);
  if (arguments.has("crossfade")) return fail(ErrorCode::invalid_argument, "--crossfade is for the crossfades of a --relay FILE");
  const auto file = arguments.value("prompts");
  if (file && !arguments.positionals().empty()) {
    return fail(ErrorCode::invalid_argument, "give the prompts on the command line or with --prompts, not both");
  }
  if (file) {
    CONTINUO_TRY(plan.prompts, read_prompts(*file, max_clips));
  } else {
    plan.prompts = arguments.positionals();
  }
  if (plan.prompts.empty()) {
    return fail(ErrorCode::invalid_argument,
                "what should it play? Give a PROMPT (\"\" makes music without one), or --prompts FILE");
  }
  for (const std::string& prompt : plan.prompts) CONTINUO_CHECK(check_prompt(prompt));
  const std::size_t clips = plan.prompts.size() * static_cast<std::size_t>(plan.takes);
  if (clips > max_clips) {
    return fail(ErrorCode::invalid_argument, "{} clips at once are too many; at most {}", clips, max_clips);
  }
  plan.batch = file || clips > 1;
  return {};
}

Status name_outputs(const Arguments& arguments, GeneratePlan& plan) {
  const std::size_t clips = plan.prompts.size() * static_cast<std::size_t>(plan.takes);
  const std::string output = arguments.value_or("output", "");
  if (arguments.has("output") && output.empty()) return fail(ErrorCode::invalid_argument, "-o needs the name of a file");
  if (!output.empty() && !output.ends_with('/')) {
    for (std::size_t i = 0; i < clips; ++i)
      plan.outputs.push_back(plan.batch ? numbered(output, static_cast<int>(i) + 1) : output);
  } else if (!plan.stream || !output.empty()) {
    std::vector<std::string> prompts;
    for (const std::string& prompt : plan.prompts) prompts.insert(prompts.end(), static_cast<std::size_t>(plan.takes), prompt);
    plan.outputs = default_outputs(output, prompts, plan.seed, plan.batch);
  }
  plan.codes_output = arguments.value_or("codes-out", "");
  if (arguments.has("codes-out") && plan.codes_output.empty()) {
    return fail(ErrorCode::invalid_argument, "--codes-out needs the name of a file");
  }
  if (std::find(plan.outputs.begin(), plan.outputs.end(), plan.codes_output) != plan.outputs.end()) {
    return fail(ErrorCode::invalid_argument, "the audio and the codes cannot both be written to {}", plan.codes_output);
  }
  return {};
}

Status read_recordings(const Arguments& arguments, GeneratePlan& plan) {
  for (const auto& [name, path] : {std::pair{"continue", &plan.continued}, {"melody", &plan.melody}}) {
    *path = arguments.value_or(name, "");
    if (arguments.has(name) && path->empty()) return fail(ErrorCode::invalid_argument, "--{} needs the name of a file", name);
  }
  for (const char* name : {"last", "codec-prompt"}) {
    if (arguments.has(name) && plan.continued.empty()) {
      return fail(ErrorCode::invalid_argument, "--{} says how to continue a recording; give that with --continue FILE", name);
    }
  }
  if (const auto text = arguments.value("last")) {
    CONTINUO_TRY(plan.last, parse_number(*text, "--last", 0.0, max_seconds));
  }
  plan.codec_prompt = arguments.has("codec-prompt");
  return {};
}

}  // namespace

Result<GeneratePlan> plan_from(const Arguments& arguments) {
  GeneratePlan plan;
  if (const auto text = arguments.value("duration")) {
    CONTINUO_TRY(plan.seconds, parse_seconds(*text));
  }
  if (const auto text = arguments.value("takes")) {
    CONTINUO_TRY(const auto takes, parse_integer(*text, "--takes", 1, max_clips));
    plan.takes = static_cast<int>(takes);
  }
  if (const auto text = arguments.value("seed")) {
    CONTINUO_TRY(plan.seed, parse_seed(*text));
  } else {
    plan.seed = drawn_seed();
  }
  const std::string bits = arguments.value_or("bits", "16");
  const auto format = audio::sample_format_from_name(bits);
  if (!format) return fail(ErrorCode::invalid_argument, "--bits must be 16, 24 or 32f, not '{}'", bits);
  CONTINUO_CHECK(read_sampling(arguments, plan));
  CONTINUO_CHECK(read_prompt_arguments(arguments, plan));
  CONTINUO_CHECK(read_stream_arguments(arguments, *format, plan));
  CONTINUO_CHECK(read_recordings(arguments, plan));
  CONTINUO_CHECK(name_outputs(arguments, plan));
  CONTINUO_TRY(plan.steady, read_level(arguments));
  CONTINUO_TRY(plan.finish, finish_plan(arguments, plan.outputs.empty() ? "" : plan.outputs.front(), *format));
  return plan;
}

std::vector<engine::Request> requests_of(const GeneratePlan& plan, const weights::ModelConfig& config) {
  engine::Request base = engine::default_request(config);
  base.seconds = plan.seconds;
  base.segments = plan.relay;
  base.crossfade_seconds = plan.crossfade.value_or(base.crossfade_seconds);
  base.seed = plan.seed;
  base.strategy = plan.strategy.value_or(base.strategy);
  base.temperature = plan.temperature.value_or(base.temperature);
  // A small model's codebooks may hold fewer codes than the usual default asks for; only a person's own number is held to them.
  base.top_k = plan.top_k.value_or(std::min(base.top_k, config.decoder.codebook_size));
  base.top_p = plan.top_p.value_or(base.top_p);
  // An explicit top-k means top-k, also on a model whose own default is top-p (which would replace it).
  if (plan.top_k && !plan.top_p) base.top_p = 0.0F;
  base.guidance = plan.guidance.value_or(base.guidance);
  std::vector<engine::Request> requests;
  for (const std::string& prompt : plan.prompts) {
    for (int take = 1; take <= plan.takes; ++take) {
      requests.push_back(base);
      requests.back().prompt = prompt;
      requests.back().take = take;
    }
  }
  return requests;
}

}  // namespace continuo::cli
