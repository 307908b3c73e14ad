#include "server/routes/operations.h"

#include <chrono>
#include <nlohmann/json.hpp>

#include "audio/ffmpeg.h"
#include "server/requests/error_response.h"

namespace continuo::server {

namespace {

using Json = nlohmann::ordered_json;

std::string text_of(const Json& json) { return json.dump(-1, ' ', false, Json::error_handler_t::replace); }

/// 0.3, not the 0.30000001192092896 that it is as a double.
double tidy(float number) { return std::stod(fmt::format("{}", number)); }

bool non_commercial(const std::string& license) { return license.find("NC") != std::string::npos; }

Json describe(const Models::Model& model, bool is_default, std::int64_t created) {
  Json json{{"id", model.id}, {"object", "model"}, {"created", created}, {"owned_by", "continuo"}, {"default", is_default}};
  json["state"] = model.engine == nullptr ? "loading" : "ready";
  if (model.engine == nullptr) return json;
  const weights::ModelConfig& config = model.engine->config();
  const engine::Request defaults = engine::default_request(config);
  json["name"] = config.name;
  json["description"] = config.description;
  json["license"] = config.license;
  json["commercial_use"] = !config.license.empty() && !non_commercial(config.license);
  if (non_commercial(config.license))
    json["license_note"] = "the licence of this model does not allow commercial use of the model or of what it makes";
  json["sample_rate"] = config.codec.sample_rate;
  json["channels"] = config.decoder.audio_channels;
  json["frame_rate"] = config.codec.frame_rate();
  json["window_seconds"] = static_cast<double>(config.decoder.max_frames) / config.codec.frame_rate();
  json["capabilities"] = {{"text", true},
                          {"melody", config.is_melody()},
                          {"continuation", true},
                          {"relay_continued", !config.is_melody()},
                          {"live_prompts", !config.is_melody()}};
  json["defaults"] = {{"temperature", tidy(defaults.temperature)},
                      {"top_k", defaults.top_k},
                      {"top_p", tidy(defaults.top_p)},
                      {"guidance_scale", tidy(defaults.guidance)},
                      {"duration", defaults.seconds}};
  return json;
}

Json describe(const Limits& limits) {
  return {{"queue", limits.queue},
          {"takes", limits.takes},
          {"rows", limits.rows},
          {"seconds", limits.seconds},
          {"prompt_bytes", limits.prompt_bytes},
          {"segments", limits.segments},
          {"batch", limits.batch},
          {"body_bytes", limits.body_bytes},
          {"upload_bytes", limits.upload_bytes},
          {"upload_seconds", limits.upload_seconds},
          {"uploads", limits.uploads},
          {"upload_keep_seconds", limits.upload_keep_seconds},
          {"requests_per_minute", limits.requests_per_minute},
          {"connections", limits.connections},
          {"connections_per_client", limits.connections_per_client},
          {"header_seconds", limits.header_seconds},
          {"body_seconds", limits.body_seconds},
          {"idle_seconds", limits.idle_seconds},
          {"write_seconds", limits.write_seconds},
          {"job_keep_seconds", limits.job_keep_seconds},
          {"resume_seconds", limits.resume_seconds},
          {"jobs_kept", limits.jobs_kept},
          {"renditions_bytes", limits.renditions_bytes}};
}

/// What sound may be asked for. All but WAV and PCM, and rates other than the model's, need FFmpeg's libraries.
Json describe_sound() {
  const bool ffmpeg = audio::load_ffmpeg().has_value();
  Json json{{"formats", {"wav"}}, {"speech_formats", {"wav", "pcm"}}, {"channels", {1, 2}}, {"bits", {16, 24, 32}}};
  if (ffmpeg) {
    json["formats"] = {"wav", "flac", "mp3", "m4a", "ogg"};
    json["speech_formats"] = {"mp3", "opus", "aac", "flac", "wav", "pcm"};
    json["sample_rates"] = {32'000, 44'100, 48'000};
  }
  json["ffmpeg"] = ffmpeg;
  return json;
}

}  // namespace

std::string model_body(const Models::Model& model, bool is_default, std::int64_t created) {
  return text_of(describe(model, is_default, created));
}

std::string models_body(const Models& models, std::int64_t created) {
  Json list = Json::array();
  for (const Models::Model* model : models.list()) list.push_back(describe(*model, list.empty(), created));
  return text_of({{"object", "list"}, {"data", std::move(list)}});
}

// Without the names of files and folders: they are nobody's business but the operator's.
std::string props_body(const ServerOptions& options, const Models& models) {
  Json json{{"object", "server"}, {"name", "continuo"}, {"version", options.version}};
  const auto all = models.list();
  json["default_model"] = all.empty() ? Json() : Json(all.front()->id);
  json["models"] = Json::array();
  for (const Models::Model* model : all) {
    json["models"].push_back(model->id);
    if (model->engine != nullptr && !json.contains("machine"))
      json["machine"] = {{"threads", model->engine->threads()}, {"isa", model->engine->isa()}};
  }
  json["api_key_required"] = !options.api_key_file.empty();
  json["limits"] = describe(options.limits);
  json["sound"] = describe_sound();
  json["origins"] = options.origins;
  json["webhook_hosts"] = options.webhook_hosts;
  json["own_scenes"] = !options.scenes_file.empty();
  json["log"] = {{"prompts", options.log_prompts}, {"level", options.log_level}};
  json["grace_seconds"] = options.grace_seconds;
  return text_of(json);
}

OperationsRoutes::OperationsRoutes(Needs needs)
    : needs_(std::move(needs)),
      since_(std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count()) {}

void OperationsRoutes::add_to(Router& router) {
  RouteOptions open;
  open.open = true;
  for (const char* path : {"/health", "/v1/health"})
    router.add(
        "GET", path, [this](Exchange& exchange) { return health(exchange); }, open);
  router.add("GET", "/metrics", [this](Exchange& exchange) { return numbers(exchange); });
  router.add("GET", "/props", [this](Exchange& exchange) { return props(exchange); });
  router.add("GET", "/v1/models", [this](Exchange& exchange) { return models(exchange); });
  router.add("GET", "/v1/models/{id}", [this](Exchange& exchange) { return model(exchange); });
}

Task<void> OperationsRoutes::health(Exchange& exchange) {
  const ServerState state = needs_.state();
  const char* word = state == ServerState::loading ? "loading" : state == ServerState::stopping ? "stopping" : "ok";
  HttpResponse answer = json_response(state == ServerState::serving ? 200 : 503, fmt::format("{{\"status\":\"{}\"}}", word));
  answer.headers.emplace_back("Cache-Control", "no-store");
  co_await exchange.send(std::move(answer));
}

Task<void> OperationsRoutes::numbers(Exchange& exchange) {
  Metrics::Now now;
  now.log_lines_lost = needs_.log.dropped();
  for (const Models::Model* model : needs_.models.list()) {
    if (model->engine == nullptr) continue;
    now.engines.push_back({model->id, model->engine->status(), model->engine->config().codec.frame_rate()});
    if (needs_.held) now.engines.back().status.waiting += needs_.held(model->id);
  }
  HttpResponse answer;
  answer.headers.emplace_back("Content-Type", Metrics::content_type);
  answer.headers.emplace_back("Cache-Control", "no-store");
  answer.body = needs_.metrics.text(now);
  co_await exchange.send(std::move(answer));
}

Task<void> OperationsRoutes::props(Exchange& exchange) {
  HttpResponse answer = json_response(200, props_body(needs_.options, needs_.models));
  co_await exchange.send(std::move(answer));
}

Task<void> OperationsRoutes::models(Exchange& exchange) {
  HttpResponse answer = json_response(200, models_body(needs_.models, since_));
  co_await exchange.send(std::move(answer));
}

Task<void> OperationsRoutes::model(Exchange& exchange) {
  const auto id = exchange.request().captures.find("id");
  const std::string wanted = id == exchange.request().captures.end() ? std::string() : id->second;
  const Models::Model* found = needs_.models.find(wanted);
  HttpResponse answer;
  if (found == nullptr) {
    const ApiError error{404, "there is no such model here; /v1/models lists those that there are", "model", "model_not_found"};
    answer = error_response(error);
  } else {
    answer = json_response(200, model_body(*found, needs_.models.list().front() == found, since_));
  }
  co_await exchange.send(std::move(answer));
}

}  // namespace continuo::server
