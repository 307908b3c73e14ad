// continuo generate: text to audio files.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "audio/npy.h"
#include "audio/splice.h"
#include "cli/app.h"
#include "cli/audio_input.h"
#include "cli/finish.h"
#include "cli/generate_plan.h"
#include "cli/interrupt.h"
#include "cli/level.h"
#include "cli/machine.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/outputs.h"
#include "cli/progress.h"
#include "cli/stream.h"
#include "text/tokenizer.h"

namespace continuo::cli {

namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

/// Samples of one channel.
std::size_t length_of(const engine::Clip& clip) { return clip.audio.size() / static_cast<std::size_t>(clip.channels); }

struct Outcome {
  std::vector<engine::Clip> clips;
  std::vector<std::size_t> lengths;  // of each clip, in samples of one channel; the samples go when they are written
  engine::Timing timing;
  double load_seconds = 0.0;
  double work_seconds = 0.0;
  std::optional<double> first_sound_seconds;  // of a stream
  double given_seconds = 0.0;                 // of the clips, what was there before: the recording that each continues
  double cut_seconds = 0.0;                   // made, but not in the files: --loop shortens
  int threads = 0;
  std::string isa;

  double seconds_of(std::size_t i) const { return static_cast<double>(lengths[i]) / clips[i].sample_rate; }
  double audio_seconds() const {
    double sum = 0.0;
    for (std::size_t i = 0; i < clips.size(); ++i) sum += seconds_of(i);
    return sum;
  }
  double made_seconds() const { return audio_seconds() + cut_seconds - given_seconds; }
  double speed() const { return work_seconds > 0.0 ? made_seconds() / work_seconds : 0.0; }
};

Status cancelled() { return fail(ErrorCode::cancelled, "interrupted; nothing was written"); }

/// Of the longest prompt; 1 is an empty one.
Result<int> most_tokens(const std::vector<engine::Request>& requests, const weights::ModelConfig& config) {
  CONTINUO_TRY(const auto tokenizer, text::Tokenizer::create(config.tokenizer, config.text.vocabulary));
  std::size_t most = 1;
  for (const engine::Request& request : requests) {
    std::vector<std::string> prompts{request.prompt};
    for (const engine::Segment& segment : request.segments) prompts.push_back(segment.prompt);
    for (const std::string& prompt : prompts) {
      CONTINUO_TRY(const std::vector<int> ids, tokenizer->encode(prompt));
      most = std::max(most, ids.size());
    }
  }
  return static_cast<int>(most);
}

/// What the program keeps beside the engine: the sound of all clips, what finishing one of them takes, a recording.
std::int64_t beside_bytes(const GeneratePlan& plan, const std::vector<engine::Request>& requests,
                          const weights::ModelConfig& config) {
  constexpr auto sample = static_cast<std::int64_t>(sizeof(float));
  const int channels = config.decoder.audio_channels;
  const std::int64_t frames =
      std::int64_t{engine::frame_count(engine::request_seconds(requests.front()), config)} * config.codec.hop();
  std::int64_t bytes = frames * channels * sample * static_cast<std::int64_t>(requests.size());
  if (!plan.finish.as_it_is) {
    // From one copy to the next; a loop is looked for in one, and limited in a longer one.
    const std::int64_t copies = plan.finish.options.loop ? 4 : 2;
    bytes += copies * sample * audio::finished_frames(frames, config.codec.sample_rate, plan.finish.options) *
             plan.finish.options.channels.value_or(channels);
  }
  if (!plan.continued.empty()) {  // as it was read, and for the codec
    const double seconds = std::min(plan.last.value_or(plan.first_seconds()), plan.first_seconds());
    bytes += 3 * sample * channels * std::llround(seconds * config.codec.sample_rate);
  }
  return bytes;
}

/// Tells the engine what it may not have of a budget.
Status check_plan_against(const GeneratePlan& plan, const std::vector<engine::Request>& requests, const OpenedModel& model,
                          engine::EngineOptions& options) {
  const weights::ModelConfig& config = model.config();
  const engine::Request& first = requests.front();
  const std::int64_t loaded = engine::resident_weight_bytes(*model.source, false);
  const std::int64_t encoder = plan.continued.empty() ? 0 : engine::resident_weight_bytes(*model.source, true) - loaded;
  engine::MemoryAsk ask;
  ask.beside = beside_bytes(plan, requests, config);
  options.set_aside = ask.beside + encoder;
  ask.clips = static_cast<int>(requests.size());
  ask.seconds = first.seconds;
  ask.guided = first.guidance != 1.0F;
  CONTINUO_TRY(ask.kv, engine::parse_kv_type(options.kv));
  if (config.is_melody()) {
    CONTINUO_TRY(ask.text_tokens, most_tokens(requests, config));
  }
  engine::MemoryNeed need = engine::memory_need(config, loaded + encoder, ask);
  // Under a budget clips wait for each other: one has to fit.
  if (options.memory > 0) need.keys_values /= ask.clips;
  return check_memory(need, options.memory);
}

Status encode_prompt(engine::Engine& engine, const AudioPrompt& prompt, std::vector<engine::Request>& requests) {
  CONTINUO_TRY(const std::vector<std::int64_t> codes, engine.encode_audio(prompt.samples));
  for (engine::Request& request : requests) {
    request.prompt_codes = codes;
    request.prompt_frames = prompt.frames;
  }
  return {};
}

/// A stream is the model's own sound, but for its level.
Result<std::optional<audio::Chain>> stream_finish(const FinishPlan& plan, const engine::Request& request,
                                                  const weights::ModelConfig& config) {
  if (!plan.options.keep_level) return std::nullopt;
  audio::FinishOptions options;
  options.ceiling_db = 0.0;
  keep_level_of(request, plan.options.level_rest, options);
  const std::int64_t frames = std::int64_t{engine::frame_count(engine::request_seconds(request), config)} * config.codec.hop();
  return audio::finishing_chain(options, config.decoder.audio_channels, config.codec.sample_rate, frames);
}

Result<Outcome> work(const GeneratePlan& plan, OpenedModel model, const engine::EngineOptions& options,
                     const std::optional<AudioPrompt>& prompt, std::vector<engine::Request>& requests) {
  Outcome outcome;
  const auto load_start = Clock::now();
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(model.source), options));
  outcome.load_seconds = seconds_since(load_start);
  outcome.threads = engine->threads();
  outcome.isa = engine->isa();
  if (interrupted()) return forward_error(cancelled().error());
  ProgressDisplay display(stderr, progress_on_terminal());
  const auto start = Clock::now();
  if (prompt) {
    CONTINUO_CHECK(encode_prompt(*engine, *prompt, requests));
    outcome.given_seconds = prompt->seconds * static_cast<double>(requests.size());
  }
  if (plan.stream) {
    const AudioPrompt* recording = prompt && !plan.codec_prompt ? &*prompt : nullptr;
    CONTINUO_TRY(auto finish, stream_finish(plan.finish, requests.front(), engine->config()));
    auto streamed = stream_clip(*engine, requests.front(), recording, *plan.stream, std::move(finish), display);
    display.clear();
    CONTINUO_TRY(Streamed made, std::move(streamed));
    outcome.work_seconds = seconds_since(start);
    outcome.timing = made.timing;
    outcome.first_sound_seconds = made.first_sound_seconds;
    outcome.clips.push_back(std::move(made.clip));
    outcome.lengths.push_back(length_of(outcome.clips.front()));
    return outcome;
  }
  auto clips = engine->generate(
      requests, [&](const engine::Progress& progress) { display.show(progress); }, interrupted);
  display.clear();
  if (!clips && clips.error().code == ErrorCode::cancelled) return forward_error(cancelled().error());
  CONTINUO_TRY(outcome.clips, std::move(clips));
  // The engine leaves the frames of a relay with crossfades open.
  for (std::size_t i = 0; i < requests.size(); ++i)
    outcome.clips[i].frames = engine::frame_count(engine::request_seconds(requests[i]), engine->config());
  for (const engine::Clip& clip : outcome.clips) outcome.lengths.push_back(length_of(clip));
  outcome.work_seconds = seconds_since(start);
  outcome.timing = engine->last_timing();
  return outcome;
}

/// Puts the recording's own samples in the place of the codec's.
void restore_recording(const AudioPrompt& prompt, std::vector<engine::Clip>& clips) {
  for (engine::Clip& clip : clips) {
    const auto fade = static_cast<std::size_t>(audio::splice_seconds * clip.sample_rate);
    audio::splice(clip.audio, prompt.samples, clip.channels, fade);
  }
}

Status write_codes(const std::string& path, const std::vector<engine::Clip>& clips, bool batch) {
  std::vector<std::int64_t> shape{clips.front().codebooks, clips.front().frames};
  if (batch) shape.insert(shape.begin(), static_cast<std::int64_t>(clips.size()));
  std::vector<std::int64_t> codes;
  for (const engine::Clip& clip : clips) codes.insert(codes.end(), clip.codes.begin(), clip.codes.end());
  return audio::write_npy(path, shape, codes);
}

/// The clips become what was written.
Status write_files(const GeneratePlan& plan, Outcome& outcome) {
  if (interrupted()) return cancelled();
  for (std::size_t i = 0; i < plan.outputs.size(); ++i) {
    engine::Clip& clip = outcome.clips[i];
    const double made = outcome.seconds_of(i);
    CONTINUO_CHECK(finish_and_write(plan.finish, plan.outputs[i], clip));
    outcome.lengths[i] = length_of(clip);
    outcome.cut_seconds += made - outcome.seconds_of(i);
    clip.audio = {};
  }
  if (!plan.codes_output.empty()) return write_codes(plan.codes_output, outcome.clips, plan.batch);
  return {};
}

/// Standard output, unless the sound itself is there.
std::FILE* results_of(const GeneratePlan& plan) { return plan.stream ? stderr : stdout; }

void print_json(const GeneratePlan& plan, const Outcome& outcome, const std::string& model_path,
                const weights::ModelConfig& config, const std::optional<AudioPrompt>& prompt,
                const std::vector<engine::Request>& requests) {
  nlohmann::ordered_json clips = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < outcome.clips.size(); ++i) {
    const engine::Clip& clip = outcome.clips[i];
    clips.push_back({{"path", plan.outputs.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(plan.outputs[i])},
                     {"prompt", requests[i].prompt},
                     {"seed", requests[i].seed},
                     {"take", requests[i].take},
                     {"frames", clip.frames},
                     {"samples", outcome.lengths[i]},
                     {"channels", clip.channels},
                     {"seconds", outcome.seconds_of(i)},
                     {"sample_rate", clip.sample_rate}});
  }
  const nlohmann::ordered_json codes =
      plan.codes_output.empty() ? nlohmann::ordered_json() : nlohmann::ordered_json(plan.codes_output);
  nlohmann::ordered_json continued, melody, relay, stream;
  for (const engine::Segment& segment : plan.relay) {
    relay.push_back({{"seconds", segment.seconds},
                     {"prompt", segment.prompt},
                     {"join", segment.join == engine::Join::crossfaded ? "crossfade" : "continue"}});
  }
  if (plan.stream) {
    stream = {{"format", describe(*plan.stream, outcome.clips.front().channels, outcome.clips.front().sample_rate)},
              {"first_sound_seconds", outcome.first_sound_seconds.value_or(0.0)}};
  }
  if (prompt) continued = {{"path", prompt->path}, {"seconds", prompt->seconds}, {"frames", prompt->frames}};
  if (!plan.melody.empty()) melody = {{"path", plan.melody}, {"frames", requests.front().melody.size()}};
  const nlohmann::ordered_json json{
      {"version", version()},
      {"model", {{"name", config.name}, {"path", model_path}, {"license", config.license}}},
      {"clips", clips},
      {"continued", continued},
      {"melody", melody},
      {"relay", relay},
      {"stream", stream},
      {"level", plan.finish.options.keep_level ? "steady" : "free"},
      {"codes_path", codes},
      {"audio_seconds", outcome.audio_seconds()},
      {"speed", outcome.speed()},
      {"load_seconds", outcome.load_seconds},
      {"work_seconds", outcome.work_seconds},
      {"text_seconds", outcome.timing.text_seconds},
      {"decoder_seconds", outcome.timing.decoder_seconds},
      {"codec_seconds", outcome.timing.codec_seconds},
      {"peak_memory_bytes", peak_memory().value_or(0)},
      {"threads", outcome.threads},
      {"isa", outcome.isa},
  };
  // Paths may hold bytes that are no text; JSON must not.
  std::fprintf(results_of(plan), "%s\n", json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace).c_str());
}

void print_text(const GeneratePlan& plan, const Outcome& outcome, const std::vector<engine::Request>& requests) {
  std::FILE* const out = results_of(plan);
  for (std::size_t i = 0; i < outcome.clips.size(); ++i) {
    const std::string take = plan.takes > 1 ? fmt::format("  take {}", requests[i].take) : "";
    const std::string name = plan.outputs.empty() ? "standard output" : plan.outputs[i];
    std::fprintf(out, "%s  %.2f s  seed %llu%s\n", name.c_str(), outcome.seconds_of(i),
                 static_cast<unsigned long long>(requests[i].seed), take.c_str());
  }
  if (!plan.codes_output.empty()) std::fprintf(out, "%s  codes\n", plan.codes_output.c_str());
  const std::string first =
      outcome.first_sound_seconds ? fmt::format(", first sound after {:.2f} s", *outcome.first_sound_seconds) : "";
  std::fprintf(out, "%.1f s of music in %.1f s (%.1fx real time)%s, model loaded in %.2f s, peak memory %s\n",
               outcome.made_seconds(), outcome.work_seconds, outcome.speed(), first.c_str(), outcome.load_seconds,
               human_bytes(peak_memory().value_or(0)).c_str());
}

Status run(const Arguments& arguments, const Context& context) {
  CONTINUO_TRY(GeneratePlan plan, plan_from(arguments));
  CONTINUO_TRY(engine::EngineOptions options, engine_options(arguments, context));
  for (const std::string& output : plan.outputs) CONTINUO_CHECK(check_writable(output));
  if (!plan.codes_output.empty()) CONTINUO_CHECK(check_writable(plan.codes_output));
  CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
  const weights::ModelConfig config = model.config();
  const std::string model_path = model.path;
  auto requests = requests_of(plan, config);
  for (const engine::Request& request : requests) CONTINUO_CHECK(engine::validate(request, config));
  CONTINUO_CHECK(settle(plan.finish, config.codec.sample_rate, config.decoder.audio_channels));
  if (plan.steady.value_or(needs_windows(requests.front(), config))) plan.finish.as_it_is = false;
  CONTINUO_CHECK(check_plan_against(plan, requests, model, options));
  std::optional<AudioPrompt> prompt;
  if (!plan.continued.empty()) {
    auto recording = read_audio_prompt(plan.continued, plan.last, plan.first_seconds(), config);
    if (!recording && !plan.relay.empty() && recording.error().code == ErrorCode::invalid_argument) {
      return fail(
          ErrorCode::invalid_argument,
          "{} is to be continued within the relay's first line, which lasts only {:g} s; make it longer, or --last shorter",
          plan.continued, plan.first_seconds());
    }
    CONTINUO_TRY(prompt, std::move(recording));
  }
  if (plan.steady.value_or(needs_windows(requests.front(), config)))
    keep_level_of(requests.front(), prompt ? prompt->seconds : 0.0, plan.finish.options);
  if (!plan.melody.empty()) {
    CONTINUO_TRY(const std::vector<int> melody, read_melody(plan.melody, config));
    for (engine::Request& request : requests) request.melody = melody;
  }
  print_licence_note(config);
  CONTINUO_TRY(Outcome outcome, work(plan, std::move(model), options, prompt, requests));
  if (prompt && !plan.codec_prompt && !plan.stream) restore_recording(*prompt, outcome.clips);
  CONTINUO_CHECK(write_files(plan, outcome));
  if (arguments.has("json")) {
    print_json(plan, outcome, model_path, config, prompt, requests);
  } else {
    print_text(plan, outcome, requests);
  }
  return {};
}

}  // namespace

Command generate_command() {
  Command command{"generate", "make music from a prompt"};
  command.positionals = {"PROMPT", "what to play; \"\" for no prompt; several prompts run as one batch", 0, max_clips};
  command.options = {
      model_option(),
      {"-d,--duration", "SECONDS", "length of the clip (default 10; at most 600)"},
      {"-o,--output", "OUT.wav",
       "the file to write: .wav, .flac, .mp3, .m4a, .ogg or .opus (a batch gets -1, -2 ...); or a folder with a slash at its end "
       "(default: ./, named after prompt and seed)"},
      {"--prompts", "FILE", "a file with one prompt a line, run as one batch (- for standard input)"},
      {"--relay", "FILE",
       "prompts that follow each other in one piece, a line each: SECONDS [crossfade:] PROMPT (- for standard input)"},
      {"--crossfade", "SECONDS", "how long the crossfades of a relay take (default 0.3)"},
      {"--takes", "N", "variations of each prompt (default 1)"},
      {"--seed", "N", "repeats a result (default: drawn, and printed)"},
      {"--temperature", "T", "how freely to choose; 0 always takes the likeliest (default: the model's, usually 1)"},
      {"--top-k", "K", "choose among the K likeliest; 0 among all (default: the model's, usually 250)"},
      {"--top-p", "P", "choose among the likeliest that make up probability P, instead of top-k (default: the model's)"},
      {"--guidance", "G", "how closely to follow the prompt; 1 is off and twice as fast (default: the model's, usually 3)"},
      {"--strategy", "sample|greedy", "greedy is temperature 0 (default: sample)"},
      {"--continue", "FILE", "a recording to continue, of any audio format; -d is then the whole length, the recording included"},
      {"--last", "SECONDS", "continue only the last SECONDS of it (default: all of it)"},
      {"--codec-prompt", "", "write the recording as the codec reconstructs it, not with its own samples"},
      {"--melody", "FILE",
       "a recording whose melody to follow, for melody models; best one without drums and bass: they are not taken out"},
      level_option(),
      {"--bits", "16|24|32f", "sample format of a wav or flac file (default 16)"},
      {"--stream", "", "write the clip to standard output while it is made; a file only with -o"},
      {"--stream-format", "FORMAT", "s16le, s24le, f32le: samples alone; wav: with a header, for players (default s16le)"},
      {"--codes-out", "FILE.npy", "also write the model's codes, int64 [codebooks, frames] ([n, codebooks, frames] for a batch)"},
      {"--json", "", "print one JSON object"},
      threads_option(),
      kv_option(),
      models_folder_option(),
      memory_option(),
      cache_option(),
      {"--beams", "N", "beams of --strategy beam",
       "beam search (--beams) is not in this version; use --strategy sample or greedy"},
  };
  for (Option& option : finish_options()) command.options.push_back(std::move(option));
  command.run = run;
  return command;
}

}  // namespace continuo::cli
