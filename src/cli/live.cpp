// continuo live: a piece without an end, whose prompt follows what is typed.
//
// How far the sound is made ahead of the listener is what a typed line waits for, so every buffer on the way is short: the frames
// that the decoder and the codec have to look ahead (0.2 s), the engine's (0.5 s), a chunk in hand (0.1 s), and the device's or
// the pipe's (0.5 s).
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <random>

#include "audio/limiter.h"
#include "audio/loudness.h"
#include "cli/interrupt.h"
#include "cli/level.h"
#include "cli/live_input.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/prompts.h"
#include "cli/stream_output.h"

namespace continuo::cli {

namespace {

constexpr double chunk_seconds = 0.1;
constexpr double engine_buffer_seconds = 0.5;
constexpr double output_buffer_seconds = 0.5;
constexpr double patience = 0.05;  // seconds between two looks at what is typed
constexpr double longest_session = 1e6;

struct LivePlan {
  engine::Request request;
  std::optional<double> seconds;  // absent: until somebody stops it
  bool to_stdout = false;
  StreamFormat format;
  std::string device;
  std::optional<bool> steady;  // absent: if it plays for longer than a window
};

/// What is done to the sound on its way out: nothing, or its level is kept.
class LiveFinish {
 public:
  Status keep_level(int channels, int rate) {
    CONTINUO_TRY(auto keeper, audio::loudness_rider(channels, rate, audio::keep_level()));
    keeper_ = keeper.get();
    chain_.emplace(channels);
    chain_->add(std::move(keeper));
    chain_->add(std::make_unique<audio::Limiter>(channels, rate, audio::LimiterOptions{.ceiling_db = 0.0}));
    return {};
  }
  Result<std::vector<float>> push(std::vector<float> samples) {
    if (!chain_) return samples;
    return chain_->push(samples);
  }
  /// Another prompt is meant to sound different.
  void prompt_changed() {
    if (keeper_ != nullptr) keeper_->listen_anew();
  }

 private:
  std::optional<audio::Chain> chain_;
  audio::Rider* keeper_ = nullptr;  // in the chain
};

/// 32 bits, so that a person can type it again.
Result<std::uint64_t> seed_of(const Arguments& arguments) {
  if (const auto text = arguments.value("seed")) return parse_seed(*text);
  return std::random_device{}();
}

Status read_sampling(const Arguments& arguments, const weights::ModelConfig& config, engine::Request& request) {
  if (const auto text = arguments.value("temperature")) {
    CONTINUO_TRY(const double value, parse_number(*text, "--temperature", 0.0, 100.0));
    request.temperature = static_cast<float>(value);
  }
  if (const auto text = arguments.value("guidance")) {
    CONTINUO_TRY(const double value, parse_number(*text, "--guidance", 0.0, 100.0));
    request.guidance = static_cast<float>(value);
  }
  if (const auto text = arguments.value("top-k")) {
    CONTINUO_TRY(const std::int64_t value, parse_integer(*text, "--top-k", 0, config.decoder.codebook_size));
    request.top_k = static_cast<int>(value);
    request.top_p = 0.0F;  // what is asked for wins over a model's own top-p
  }
  if (const auto text = arguments.value("top-p")) {
    CONTINUO_TRY(const double value, parse_number(*text, "--top-p", 0.0, 1.0));
    request.top_p = static_cast<float>(value);
  }
  return {};
}

/// What can be wrong without a model.
Result<LivePlan> plan_from(const Arguments& arguments) {
  LivePlan plan;
  if (const auto text = arguments.value("seconds")) {
    CONTINUO_TRY(plan.seconds, parse_number(*text, "--seconds", 0.02, longest_session));
  }
  plan.to_stdout = arguments.has("stdout");
  plan.device = arguments.value_or("device", "default");
  if (plan.to_stdout && arguments.has("device")) {
    return fail(ErrorCode::invalid_argument, "it plays either on a device or to standard output; give --device or --stdout");
  }
  if (!plan.to_stdout && arguments.has("stream-format"))
    return fail(ErrorCode::invalid_argument, "--stream-format is for --stdout");
  CONTINUO_TRY(plan.format, parse_stream_format(arguments.value_or("stream-format", "s16le"), audio::SampleFormat::pcm16));
  CONTINUO_TRY(plan.steady, read_level(arguments));
  if (plan.to_stdout) CONTINUO_CHECK(check_stream_output());
  for (const std::string& prompt : arguments.positionals()) CONTINUO_CHECK(check_prompt(prompt));
  return plan;
}

Result<std::unique_ptr<Sink>> open_sink(const LivePlan& plan, const weights::ModelConfig& config,
                                        std::optional<std::int64_t> frames) {
  const int channels = config.decoder.audio_channels, rate = config.codec.sample_rate;
  if (plan.to_stdout) {
    CONTINUO_TRY(StreamOutput output, StreamOutput::open({plan.format, channels, rate, frames, output_buffer_seconds}));
    return std::make_unique<StreamOutput>(std::move(output));
  }
  CONTINUO_TRY(audio::SoundDevice device, audio::SoundDevice::open(plan.device, channels, rate, output_buffer_seconds));
  return std::make_unique<DeviceOutput>(std::move(device));
}

std::string named(const std::string& prompt) { return prompt.empty() ? "without a prompt" : "\"" + prompt + "\""; }

void say(const std::string& line) { std::fprintf(stderr, "%s\n", line.c_str()); }

/// The piece while it plays.
class Session {
 public:
  Session(engine::Engine& engine, Sink& sink, LiveFinish finish, std::optional<std::int64_t> frames)
      : engine_(engine),
        sink_(sink),
        finish_(std::move(finish)),
        channels_(engine.config().decoder.audio_channels),
        left_(frames.value_or(std::numeric_limits<std::int64_t>::max())) {}

  Status play(const engine::Request& request) {
    CONTINUO_TRY(job_, engine_.submit(request));
    while (left_ > 0 && !quit_) {
      if (interrupted()) {
        sink_.drop();
        return fail(ErrorCode::cancelled, "stopped after {:.1f} s", seconds());
      }
      while (const auto line = keyboard_.next()) hear(*line);
      CONTINUO_CHECK(at_ < samples_.size() ? write() : take());
      tell_gaps();
    }
    job_->cancel();
    if (quit_) sink_.drop();
    return quit_ ? Status() : sink_.finish();
  }

  double seconds() const { return static_cast<double>(played_) / engine_.config().codec.sample_rate; }

 private:
  void hear(const std::string& text) {
    const auto line = parse_live_line(text);
    if (!line) return say(line.error().message);
    if (std::holds_alternative<Quit>(*line)) quit_ = true;
    if (std::holds_alternative<Help>(*line)) std::fputs(live_help().c_str(), stderr);
    const auto* change = std::get_if<engine::Change>(&*line);
    if (change == nullptr) return;
    if (const Status status = job_->change(*change); !status) return say(status.error().message);
    if (change->prompt) finish_.prompt_changed();
    if (change->prompt) say("now: " + named(*change->prompt));
    if (change->guidance) say(fmt::format("now: guidance {:g}", *change->guidance));
    if (change->temperature) say(fmt::format("now: temperature {:g}", *change->temperature));
  }

  Status take() {
    auto event = job_->wait(patience);
    if (!event) return {};
    if (const auto* started = std::get_if<engine::Started>(&*event)) tell_speed(*started);
    if (auto* failed = std::get_if<engine::Failed>(&*event)) return forward_error(std::move(failed->error));
    if (auto* audio = std::get_if<engine::Audio>(&*event)) {
      CONTINUO_TRY(samples_, finish_.push(std::move(audio->samples)));
      at_ = 0;
    }
    return {};
  }

  Status write() {
    auto rest = std::span<const float>(samples_).subspan(at_);
    if (static_cast<std::int64_t>(rest.size()) / channels_ > left_)
      rest = rest.first(static_cast<std::size_t>(left_ * channels_));
    CONTINUO_TRY(const std::int64_t taken, sink_.write(rest, patience));
    at_ += static_cast<std::size_t>(taken * channels_);
    left_ -= taken;
    played_ += taken;
    return {};
  }

  void tell_speed(const engine::Started& started) {
    if (started.realtime || told_slow_) return;
    told_slow_ = true;
    say(fmt::format(
        "note: this machine may be too slow for this model, and the sound then has gaps: a step takes {:.1f} ms of the "
        "{:.1f} ms of sound that it makes",
        started.step_seconds * 1e3, 1e3 / engine_.config().codec.frame_rate()));
  }

  void tell_gaps() {
    if (sink_.gaps() == 0 || told_gap_) return;
    told_gap_ = true;
    if (!told_slow_) say("note: the sound was not made in time and had a gap; the machine is busy");
  }

  engine::Engine& engine_;
  Sink& sink_;
  LiveFinish finish_;
  std::shared_ptr<engine::Job> job_;
  LineReader keyboard_;
  std::vector<float> samples_;
  std::size_t at_ = 0;
  int channels_;
  std::int64_t left_;  // frames
  std::int64_t played_ = 0;
  bool quit_ = false;
  bool told_slow_ = false;
  bool told_gap_ = false;
};

Status run(const Arguments& arguments, const Context& context) {
  CONTINUO_TRY(LivePlan plan, plan_from(arguments));
  CONTINUO_TRY(const std::uint64_t seed, seed_of(arguments));
  CONTINUO_TRY(const engine::EngineOptions options, engine_options(arguments, context));
  CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
  const weights::ModelConfig config = model.config();
  engine::Request request = engine::default_request(config);
  CONTINUO_CHECK(read_sampling(arguments, config, request));
  if (!arguments.positionals().empty()) request.prompt = arguments.positionals().front();
  request.seed = seed;
  request.endless = true;
  request.service = engine::Service::realtime;
  request.chunk_seconds = chunk_seconds;
  request.buffer_seconds = engine_buffer_seconds;
  CONTINUO_CHECK(engine::validate(request, config));
  // Two windows at most are in memory, whatever the length.
  const double window = static_cast<double>(config.decoder.max_frames) / config.codec.frame_rate();
  engine::MemoryAsk ask;
  ask.seconds = 2.0 * window;
  CONTINUO_TRY(ask.kv, engine::parse_kv_type(options.kv));
  CONTINUO_CHECK(
      check_memory(engine::memory_need(config, engine::resident_weight_bytes(*model.source, false), ask), options.memory));
  std::optional<std::int64_t> frames;
  if (plan.seconds) frames = std::llround(*plan.seconds * config.codec.sample_rate);
  CONTINUO_TRY(const std::unique_ptr<Sink> sink, open_sink(plan, config, frames));
  print_licence_note(config);
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(model.source), options));
  const std::string where =
      plan.to_stdout ? describe(plan.format, config.decoder.audio_channels, config.codec.sample_rate) : "device " + plan.device;
  say(fmt::format("playing {}, seed {} ({}); type a new prompt, or /help", named(request.prompt), seed, where));
  LiveFinish finish;
  if (plan.steady.value_or(!plan.seconds || *plan.seconds > window)) {
    CONTINUO_CHECK(finish.keep_level(config.decoder.audio_channels, config.codec.sample_rate));
  }
  Session session(*engine, *sink, std::move(finish), frames);
  const Status status = session.play(request);
  if (!status && sink->listener_left()) {  // closing the player is one way to stop
    say(fmt::format("the listener has left after {:.1f} s", session.seconds()));
    return {};
  }
  CONTINUO_CHECK(status);
  say(fmt::format("{:.1f} s played", session.seconds()));
  return {};
}

}  // namespace

Command live_command() {
  Command command{"live", "endless music that follows what you type"};
  command.positionals = {"PROMPT", "what to begin with (default: no prompt); while it plays, each line typed is the new prompt",
                         0, 1};
  command.options = {
      model_option(),
      {"--stdout", "", "play to standard output, in real time, instead of a sound device"},
      {"--stream-format", "FORMAT", "of --stdout: s16le, s24le, f32le, or wav (default s16le)"},
      {"--device", "NAME", "the sound device, as ALSA calls it (default: default)"},
      {"--seconds", "SECONDS", "stop after that long (default: when you stop it)"},
      {"--seed", "N", "begins the same way again (default: drawn, and printed)"},
      {"--temperature", "T", "how freely to choose; 0 always takes the likeliest (default: the model's, usually 1)"},
      {"--top-k", "K", "choose among the K likeliest; 0 among all (default: the model's, usually 250)"},
      {"--top-p", "P", "choose among the likeliest that make up probability P, instead of top-k (default: the model's)"},
      {"--guidance", "G", "how closely to follow the prompt (default: the model's, usually 3)"},
      level_option(),
      threads_option(),
      kv_option(),
      models_folder_option(),
      memory_option(),
      cache_option(),
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
