// What the engine does with several requests, and how soon sound comes: measured on a model file, one JSON object.
//   engine_bench MODEL.gguf [SECONDS] [THREADS]
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <nlohmann/json.hpp>

#include "base/memory.h"
#include "engine/engine.h"

namespace {

using namespace continuo;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

engine::Request request_for(const engine::Engine& engine, const std::string& prompt, double seconds, std::uint64_t seed) {
  engine::Request request = engine::default_request(engine.config());
  request.prompt = prompt;
  request.seconds = seconds;
  request.seed = seed;
  return request;
}

/// Seconds from the first submit to the last sound of `count` pieces together.
double together(engine::Engine& engine, int count, double seconds) {
  std::vector<engine::Request> requests;
  for (int i = 0; i < count; ++i)
    requests.push_back(request_for(engine, "piece number " + std::to_string(i), seconds, static_cast<std::uint64_t>(i)));
  const auto start = Clock::now();
  if (auto clips = engine.generate(requests, {}, {}); !clips) {
    std::fprintf(stderr, "%s\n", clips.error().message.c_str());
    std::exit(1);
  }
  return seconds_since(start);
}

/// One stream as a listener has it: when the first chunk is there, and how much sound was in hand at the worst moment after it.
struct Heard {
  double first_chunk = 0.0;
  double least_ahead = 1e9;
};
Heard listen(engine::Engine& engine, const std::string& prompt, double seconds) {
  engine::Request request = request_for(engine, prompt, seconds, 1);
  request.service = engine::Service::realtime;
  request.buffer_seconds = seconds;
  const auto start = Clock::now();
  const auto job = std::move(*engine.submit(request));
  Heard heard;
  double sent = 0.0;
  const double a_second = static_cast<double>(engine.config().codec.sample_rate) * engine.config().decoder.audio_channels;
  while (auto event = job->wait()) {
    const auto* audio = std::get_if<engine::Audio>(&*event);
    if (audio == nullptr) continue;
    const double now = seconds_since(start);
    if (sent == 0.0) heard.first_chunk = now;
    heard.least_ahead = std::min(heard.least_ahead, sent == 0.0 ? 1e9 : heard.first_chunk + sent - now);
    sent += static_cast<double>(audio->samples.size()) / a_second;
  }
  return heard;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: engine_bench MODEL.gguf [SECONDS] [THREADS]\n");
    return 2;
  }
  const double seconds = argc > 2 ? std::atof(argv[2]) : 15.0;
  auto source = weights::open_model(argv[1]);
  if (!source) {
    std::fprintf(stderr, "%s\n", source.error().message.c_str());
    return 1;
  }
  engine::EngineOptions options;
  options.threads = argc > 3 ? std::atoi(argv[3]) : 0;
  auto created = engine::Engine::create(std::move(*source), options);
  if (!created) {
    std::fprintf(stderr, "%s\n", created.error().message.c_str());
    return 1;
  }
  engine::Engine& engine = **created;
  together(engine, 1, 1.0);  // warm
  nlohmann::ordered_json json{{"isa", engine.isa()}, {"threads", engine.threads()}, {"seconds", seconds}};
  std::vector<double> alone;
  for (int i = 0; i < 2; ++i) alone.push_back(together(engine, 1, seconds));
  const double one = *std::min_element(alone.begin(), alone.end());
  json["one_s"] = one;
  for (const int count : {2, 4}) {
    const double time = together(engine, count, seconds);
    json["together"].push_back({{"pieces", count}, {"s", time}, {"of_one_after_the_other", time / (count * one)}});
  }
  for (int i = 0; i < 3; ++i) {
    const std::string prompt = "a prompt that is new, number " + std::to_string(i);
    const Heard fresh = listen(engine, prompt, 5.0), repeated = listen(engine, prompt, 5.0);
    json["streams"].push_back({{"first_chunk_new_s", fresh.first_chunk},
                               {"first_chunk_repeated_s", repeated.first_chunk},
                               {"least_ahead_s", std::min(fresh.least_ahead, repeated.least_ahead)}});
  }
  std::vector<std::int64_t> codes;
  std::vector<double> times;
  std::int64_t after_second = 0;
  bool same = true;
  for (int i = 0; i < 10; ++i) {
    const engine::Request request = request_for(engine, "the same piece again", 5.0, 7);
    const auto start = Clock::now();
    const auto clips = engine.generate(std::span(&request, 1), {}, {});
    if (!clips) return 1;
    times.push_back(seconds_since(start));
    same = same && (i == 0 || codes == clips->front().codes);
    codes = clips->front().codes;
    if (i == 1) after_second = resident_memory().value_or(0);
  }
  json["ten_runs"] = {{"same_codes", same},
                      {"least_s", *std::min_element(times.begin(), times.end())},
                      {"most_s", *std::max_element(times.begin(), times.end())},
                      {"growth_bytes", resident_memory().value_or(0) - after_second}};
  json["peak_memory_bytes"] = peak_memory().value_or(0);
  std::printf("%s\n", json.dump(2).c_str());
  return 0;
}
