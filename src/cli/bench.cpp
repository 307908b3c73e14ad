// continuo bench: how fast this machine runs a model, and how far that is from the floor that its memory sets.
#include <algorithm>
#include <cstdio>
#include <limits>
#include <nlohmann/json.hpp>

#include "cli/interrupt.h"
#include "cli/machine.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/weight_type.h"

namespace continuo::cli {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int max_rows = 1024;
constexpr int text_tokens = 16;
constexpr double codec_seconds = 10.0;
constexpr double chunk_seconds = 0.5;
constexpr std::uint64_t random_seed = 1;

struct Plan {
  std::vector<int> rows;
  int position = 0;
};

struct Step {
  int rows;
  engine::Engine::StepTime time;
  double floor_ms;
};

struct Report {
  std::string isa;
  int threads = 0;
  double bandwidth_gbs = 0.0;
  std::int64_t weights_bytes = 0;
  std::int64_t kv_bytes_per_row = 0;
  std::vector<Step> steps;
  double decode_rtf = 0.0;
  double chunked_rtf = 0.0;
  double encode_rtf = 0.0;
  double text_ms = 0.0;
  std::int64_t rss_bytes = 0;
};

template <class Work>
double seconds_of(Work&& work) {
  const auto start = Clock::now();
  work();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

/// Random weights of the true sizes, or the model of -m.
Result<std::unique_ptr<weights::TensorSource>> source_of(const Arguments& arguments, const Context& context) {
  const auto shape = arguments.value("shape");
  const auto type_name = arguments.value("type");
  if (!shape) {
    if (type_name) return fail(ErrorCode::invalid_argument, "--type goes with --shape; a model file has its own type");
    CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
    return std::move(model.source);
  }
  if (arguments.has("model")) return fail(ErrorCode::invalid_argument, "give -m or --shape, not both");
  if (*shape == "notagen-small" || *shape == "notagen-x") {
    return fail(ErrorCode::unsupported, "--shape {} is not in this version; use a musicgen one", *shape);
  }
  if (*shape != "musicgen-small" && *shape != "musicgen-medium" && *shape != "musicgen-large") {
    return fail(ErrorCode::invalid_argument, "--shape must be musicgen-small, musicgen-medium or musicgen-large, not '{}'",
                *shape);
  }
  CONTINUO_TRY(const DType type, parse_weight_type(type_name.value_or("f32")));
  return weights::random_model(*shape, type, random_seed);
}

Status measure_steps(engine::Engine& engine, const Plan& plan, Report& report) {
  for (const int rows : plan.rows) {
    if (interrupted()) return fail(ErrorCode::cancelled, "interrupted");
    CONTINUO_TRY(const auto time, engine.time_step(rows, plan.position));
    const double bytes = static_cast<double>(report.weights_bytes) + rows * static_cast<double>(report.kv_bytes_per_row);
    report.steps.push_back({rows, time, bytes / (report.bandwidth_gbs * 1e9) * 1e3});
  }
  return {};
}

/// Seconds of the fastest of a few runs; `work` returns a Result.
template <class Work>
Result<double> best_of_a_few(Work&& work) {
  double best = std::numeric_limits<double>::max();
  for (int attempt = 0; attempt < 3; ++attempt) {
    if (interrupted()) return fail(ErrorCode::cancelled, "interrupted");
    Status status;
    best = std::min(best, seconds_of([&] {
                      if (auto result = work(); !result) status = forward_error(std::move(result).error());
                    }));
    CONTINUO_CHECK(status);
  }
  return best;
}

/// On random codes and ids: what they say does not matter for the time.
Status measure_ends(engine::Engine& engine, Report& report) {
  const weights::ModelConfig& config = engine.config();
  const int frames = static_cast<int>(codec_seconds * config.codec.frame_rate());
  const int chunk = std::max(1, static_cast<int>(chunk_seconds * config.codec.frame_rate()));
  std::vector<std::int64_t> codes(static_cast<std::size_t>(config.decoder.codebooks) * static_cast<std::size_t>(frames));
  for (std::size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<std::int64_t>(i * 7919 % static_cast<std::size_t>(config.codec.codebook_size));
  std::vector<int> ids(text_tokens);
  for (int i = 0; i < text_tokens; ++i) ids[static_cast<std::size_t>(i)] = std::min(3 + 11 * i, config.text.vocabulary - 1);

  const double seconds = frames / config.codec.frame_rate();
  CONTINUO_TRY(const double whole, best_of_a_few([&] { return engine.decode_codes(codes, frames); }));
  CONTINUO_TRY(const double chunked, best_of_a_few([&] { return engine.decode_codes(codes, frames, chunk); }));
  CONTINUO_TRY(const std::vector<float> sound, engine.decode_codes(codes, frames));
  CONTINUO_TRY(const double encode, best_of_a_few([&] { return engine.encode_audio(sound); }));
  CONTINUO_TRY(const double text, best_of_a_few([&] { return engine.encode_text(ids); }));
  report.decode_rtf = whole / seconds;
  report.chunked_rtf = chunked / seconds;
  report.encode_rtf = encode / seconds;
  report.text_ms = text * 1e3;
  return {};
}

std::vector<compute::OperatorTime> by_time(std::vector<compute::OperatorTime> operators) {
  std::sort(operators.begin(), operators.end(), [](const auto& a, const auto& b) { return a.seconds > b.seconds; });
  return operators;
}

nlohmann::ordered_json json_of(const std::vector<compute::OperatorTime>& operators) {
  nlohmann::ordered_json list = nlohmann::ordered_json::array();
  for (const compute::OperatorTime& entry : by_time(operators)) {
    list.push_back({{"operator", entry.name},
                    {"calls", entry.calls},
                    {"ms", entry.seconds * 1e3},
                    {"bytes", entry.bytes},
                    {"multiply_adds", entry.multiply_adds}});
  }
  return list;
}

void print_json(const Report& report, bool profile) {
  nlohmann::ordered_json steps = nlohmann::ordered_json::array();
  for (const Step& step : report.steps) {
    steps.push_back(
        {{"rows", step.rows}, {"ms", step.time.step_ms}, {"linear_ms", step.time.linear_ms}, {"floor_ms", step.floor_ms}});
    if (profile) steps.back()["profile"] = json_of(step.time.operators);
  }
  const nlohmann::ordered_json json{
      {"isa", report.isa},
      {"threads", report.threads},
      {"bandwidth_gbs", report.bandwidth_gbs},
      {"weights_bytes", report.weights_bytes},
      {"kv_bytes_per_row", report.kv_bytes_per_row},
      {"steps", steps},
      {"codec", {{"decode_rtf", report.decode_rtf}, {"chunked_rtf", report.chunked_rtf}, {"encode_rtf", report.encode_rtf}}},
      {"text_ms", report.text_ms},
      {"rss_bytes", report.rss_bytes},
  };
  std::printf("%s\n", json.dump().c_str());
}

/// One step by operator. `of the floor`: how near an operator is to reading its bytes at the machine's bandwidth.
void print_profile(const Step& step, double bandwidth_gbs) {
  std::printf("\n  %d rows: operator            calls       ms   share   GB/s  of the floor   G multiply-adds/s\n", step.rows);
  for (const compute::OperatorTime& entry : by_time(step.time.operators)) {
    const double gbs = static_cast<double>(entry.bytes) / entry.seconds / 1e9;
    std::printf("  %-26s%8lld%9.3f%7.1f%%", entry.name.c_str(), static_cast<long long>(entry.calls), entry.seconds * 1e3,
                100.0 * entry.seconds * 1e3 / step.time.step_ms);
    if (entry.bytes > 0) std::printf("%7.1f%13.0f%%", gbs, 100.0 * gbs / bandwidth_gbs);
    if (entry.multiply_adds > 0) std::printf("%20.1f", static_cast<double>(entry.multiply_adds) / entry.seconds / 1e9);
    std::printf("\n");
  }
  double counted = 0.0;
  for (const compute::OperatorTime& entry : step.time.operators) counted += entry.seconds * 1e3;
  std::printf("  %-26s%8s%9.3f%7.1f%%\n", "between operators", "", step.time.step_ms - counted,
              100.0 * (step.time.step_ms - counted) / step.time.step_ms);
}

void print_text(const Report& report, const Plan& plan, double frame_rate, bool profile) {
  std::printf("%s, %d threads, memory read at %.1f GB/s\n", report.isa.c_str(), report.threads, report.bandwidth_gbs);
  std::printf("a step reads %s of weights, and %s of keys and values a row at position %d\n",
              human_bytes(report.weights_bytes).c_str(), human_bytes(report.kv_bytes_per_row).c_str(), plan.position);
  std::printf("\n  rows   ms a step   linear   floor   real time is %.1f ms\n", 1e3 / frame_rate);
  for (const Step& step : report.steps) {
    std::printf("%6d%12.2f%9.2f%8.2f\n", step.rows, step.time.step_ms, step.time.linear_ms, step.floor_ms);
  }
  if (profile) {
    for (const Step& step : report.steps) print_profile(step, report.bandwidth_gbs);
  }
  std::printf("\ncodec: decode %.3f s a second of audio, %.3f in chunks of %.1f s, encode %.3f\n", report.decode_rtf,
              report.chunked_rtf, chunk_seconds, report.encode_rtf);
  std::printf("text of %d tokens %.1f ms, memory in use %s\n", text_tokens, report.text_ms,
              human_bytes(report.rss_bytes).c_str());
}

Result<Plan> plan_from(const Arguments& arguments) {
  Plan plan;
  CONTINUO_TRY(plan.rows, parse_list(arguments.value_or("rows", "2,4,8,16"), "--rows", 1, max_rows));
  CONTINUO_TRY(const auto position, parse_integer(arguments.value_or("position", "750"), "--position", 0, 1'000'000));
  plan.position = static_cast<int>(position);
  return plan;
}

Status run(const Arguments& arguments, const Context& context) {
  CONTINUO_TRY(const Plan plan, plan_from(arguments));
  CONTINUO_TRY(const engine::EngineOptions options, engine_options(arguments, context));
  CONTINUO_TRY(auto source, source_of(arguments, context));
  const weights::ModelConfig config = source->config();
  if (plan.position >= config.decoder.max_frames) {
    return fail(ErrorCode::invalid_argument, "--position must be below this model's window of {} frames",
                config.decoder.max_frames);
  }
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(source), options));
  if (interrupted()) return fail(ErrorCode::cancelled, "interrupted");
  Report report;
  report.isa = engine->isa();
  report.threads = engine->threads();
  report.bandwidth_gbs = read_bandwidth(report.threads);
  report.weights_bytes = engine->step_weight_bytes();
  report.kv_bytes_per_row = engine->kv_bytes(plan.position);
  CONTINUO_CHECK(measure_steps(*engine, plan, report));
  CONTINUO_CHECK(measure_ends(*engine, report));
  report.rss_bytes = resident_memory().value_or(0);
  if (arguments.has("json")) {
    print_json(report, arguments.has("profile"));
  } else {
    print_text(report, plan, config.codec.frame_rate(), arguments.has("profile"));
  }
  return {};
}

}  // namespace

Command bench_command() {
  Command command{"bench", "measure this machine: steps, codec, text, memory"};
  command.options = {
      model_option(),
      {"--shape", "SHAPE", "random weights instead of a model: musicgen-small, musicgen-medium or musicgen-large"},
      {"--type", "TYPE", "type of the random weights (default f32)"},
      {"--rows", "2,4,8,16", "rows in a step; a clip with guidance has two"},
      {"--position", "N", "frames before the step (default 750)"},
      {"--profile", "", "where a step's time goes, by operator, and how near each is to the memory's speed"},
      {"--json", "", "print one JSON object"},
      threads_option(),
      kv_option(),
      models_folder_option(),
      memory_option(),
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
