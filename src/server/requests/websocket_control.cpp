#include "server/requests/websocket_control.h"

#include <limits>
#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"
#include "weights/text_check.h"

namespace continuo::server {

using nlohmann::json;

namespace {

constexpr std::int64_t most_bytes = std::int64_t{1} << 53;  // what JavaScript counts exactly
constexpr std::int64_t least_window = 16 * 1024, most_window = std::int64_t{64} << 20;
constexpr std::size_t token_bytes = 64;

JsonLimits limits_of(const RequestContext& context) {
  JsonLimits limits = json_limits(context);
  limits.bytes = std::min(limits.bytes, max_control_bytes);
  return limits;
}

/// "scene": {...}; in place of a prompt.
std::optional<Scene> read_scene_field(Fields& fields, const SceneTable& scenes, std::optional<ScenePrompt>& prompt) {
  const json* object = fields.object("scene");
  if (object == nullptr) return std::nullopt;
  if (fields.has("prompt")) fields.refuse("scene", "give a prompt or a scene, not both");
  auto scene = fields.keep(read_scene(*object, fields.named("scene")));
  if (scene) prompt = fields.keep(scenes.prompt(*scene, fields.named("scene")));
  return prompt ? scene : std::nullopt;
}

WireSound read_sound(Fields& fields) {
  WireSound sound;
  if (fields.choice("format", {"pcm16", "f32"}) == "f32") sound.format = WireFormat::f32;
  sound.sample_rate = fields.choice("sample_rate", {24'000, 32'000, 44'100, 48'000});
  sound.channels = fields.choice("channels", {1, 2});
  sound.window = fields.integer("window", least_window, most_window).value_or(0);
  return sound;
}

/// A music request of which the sound's own fields mean the wire, not a file.
Parsed<StartMessage> read_start(json object, Channel channel, const RequestContext& context, const SceneTable& scenes) {
  StartMessage start;
  Fields fields(object);
  fields.ignore("type");
  start.sound = read_sound(fields);
  // Of a live piece small, so that a change is heard soon.
  const double chunk = fields.number("chunk", {0.02, 10.0}).value_or(channel == Channel::live ? 0.1 : 0.5);
  std::optional<ScenePrompt> scene;
  start.scene = read_scene_field(fields, scenes, scene);
  const char* const why =
      channel == Channel::live ? "a live piece has no end; leave {} out" : "a stream is one piece; leave {} out";
  const std::vector<std::string> none =
      channel == Channel::live
          ? std::vector<std::string>{"duration", "segments", "crossfade", "takes", "continue", "keep", "webhook", "title"}
          : std::vector<std::string>{"takes", "webhook"};
  for (const std::string& name : none) {
    if (fields.has(name)) fields.refuse(name, fmt::format(fmt::runtime(why), name), "unsupported");
  }
  for (const char* name : {"bits", "bitrate", "loudness", "fade_in", "fade_out", "loop", "gate"}) {
    if (fields.has(name))
      fields.refuse(name, fmt::format("a stream holds the model's own sound; leave {} out", name), "unsupported");
  }
  if (fields.failed()) return tl::unexpected(fields.finish().error());
  for (const char* name : {"type", "format", "sample_rate", "channels", "window", "chunk", "scene"}) object.erase(name);
  if (scene) {
    object["prompt"] = "";  // its limit is for what clients write
    if (!fields.has("guidance_scale")) object["guidance_scale"] = scene->guidance;
    if (!fields.has("temperature")) object["temperature"] = scene->temperature;
  }
  CONTINUO_PARSE(start.spec, read_music_request(object, context));
  engine::Request& request = start.spec.request;
  if (scene) request.prompt = scene->prompt;
  start.spec.family = channel == Channel::live ? "live" : "stream";
  start.spec.streamed = true;
  request.chunk_seconds = chunk;
  request.endless = channel == Channel::live;
  if (channel == Channel::live) start.spec.keep = false;
  return start;
}

Parsed<ChangeMessage> read_change(const json& object, const RequestContext& context, const SceneTable& scenes) {
  Fields fields(object);
  fields.ignore("type");
  ChangeMessage message;
  message.change.prompt = read_prompt(fields, "prompt", context);
  if (const auto value = fields.number("guidance_scale", {0.0, 100.0})) message.change.guidance = static_cast<float>(*value);
  if (const auto value = fields.number("temperature", {0.0, 100.0})) message.change.temperature = static_cast<float>(*value);
  std::optional<ScenePrompt> scene;
  message.scene = read_scene_field(fields, scenes, scene);
  if (scene) {
    message.change.prompt = scene->prompt;
    if (!message.change.guidance) message.change.guidance = scene->guidance;
    if (!message.change.temperature) message.change.temperature = scene->temperature;
  }
  if (!fields.any_of({"prompt", "scene", "guidance_scale", "temperature"})) {
    fields.missing("prompt", "a change says prompt, scene, guidance_scale or temperature");
  }
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return message;
}

std::int64_t read_offset(Fields& fields) {
  const auto offset = fields.integer("offset", 0, most_bytes);
  if (!fields.has("offset")) fields.missing("offset", "offset is missing: the bytes of sound that you have");
  return offset.value_or(0);
}

template <class Message>
Parsed<ControlMessage> whole(Fields& fields, Message message) {
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return ControlMessage(std::move(message));
}

double shortest(float value) { return std::stod(fmt::format("{}", value)); }

std::string text_of(const nlohmann::ordered_json& message) {
  return message.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace

Parsed<ControlMessage> parse_control(std::string_view text, Channel channel, const RequestContext& context,
                                     const SceneTable& scenes) {
  CONTINUO_PARSE(json object, parse_json_object(text, limits_of(context)));
  Fields fields(object);
  const auto type = fields.choice("type", {"start", "resume", "change", "ack", "cancel", "ping"});
  if (fields.failed()) return tl::unexpected(fields.finish().error());
  if (!type) return refuse(422, "missing_field", "type", "type is missing: start, resume, change, ack, cancel or ping");
  if (*type == "start") {
    CONTINUO_PARSE(StartMessage start, read_start(std::move(object), channel, context, scenes));
    return ControlMessage(std::move(start));
  }
  if (*type == "change") {
    CONTINUO_PARSE(ChangeMessage change, read_change(object, context, scenes));
    return ControlMessage(std::move(change));
  }
  if (*type == "resume") {
    ResumeMessage resume{fields.text("token", token_bytes).value_or(""), read_offset(fields)};
    if (!fields.has("token")) fields.missing("token", "token is missing: the one that ready told");
    if (fields.has("token") && !is_id(resume.token)) fields.refuse("token", "token is not one that ready told");
    return whole(fields, std::move(resume));
  }
  if (*type == "ack") return whole(fields, AckMessage{read_offset(fields)});
  if (*type == "ping") return whole(fields, PingMessage{fields.text("id", token_bytes).value_or("")});
  return whole(fields, CancelMessage{});
}

std::string_view word_of(WireFormat format) { return format == WireFormat::f32 ? "f32" : "pcm16"; }
int bytes_of(WireFormat format) { return format == WireFormat::f32 ? 4 : 2; }

std::string ready_message(const ReadyFacts& facts) {
  nlohmann::ordered_json message{{"type", "ready"}, {"token", facts.token}, {"job", facts.job}, {"model", facts.model}};
  message["format"] = word_of(facts.format);
  message["sample_rate"] = facts.sample_rate;
  message["channels"] = facts.channels;
  message["frames"] = facts.frames ? json(*facts.frames) : json();
  message["seed"] = facts.seed;
  message["offset"] = facts.offset;
  message["window"] = facts.window;
  message["prompt"] = facts.prompt;
  message["resume_seconds"] = facts.resume_seconds;
  return text_of(message);
}

std::string queued_message(int place, double eta_seconds) {
  return text_of({{"type", "queued"}, {"place", place}, {"eta_seconds", eta_seconds}});
}

std::string started_message(bool realtime) { return text_of({{"type", "started"}, {"realtime", realtime}}); }

std::string progress_message(double seconds, std::optional<double> total, double eta_seconds) {
  return text_of({{"type", "progress"},
                  {"seconds", seconds},
                  {"total", total ? json(*total) : json()},
                  {"eta_seconds", total ? json(eta_seconds) : json()}});
}

std::string changed_message(const std::string& prompt, std::optional<float> guidance, std::optional<float> temperature) {
  nlohmann::ordered_json message{{"type", "changed"}, {"prompt", prompt}};
  if (guidance) message["guidance_scale"] = shortest(*guidance);
  if (temperature) message["temperature"] = shortest(*temperature);
  return text_of(message);
}

std::string done_message(std::int64_t bytes, double seconds) {
  return text_of({{"type", "done"}, {"bytes", bytes}, {"seconds", seconds}});
}

std::string pong_message(const std::string& id) { return text_of({{"type", "pong"}, {"id", id}}); }

std::string error_message(const ApiError& error) {
  nlohmann::ordered_json message{{"type", "error"}};
  message["error"] = json::parse(error_body(error))["error"];
  message["status"] = error.status;
  return text_of(message);
}

}  // namespace continuo::server
