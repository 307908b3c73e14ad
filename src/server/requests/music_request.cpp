#include "server/requests/music_request.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"
#include "weights/text_check.h"

namespace continuo::server {

using nlohmann::json;

namespace {

constexpr std::size_t id_bytes = 64;
constexpr std::size_t title_bytes = 200;
constexpr std::size_t url_bytes = 2048;
constexpr int max_take = 1'000'000;

std::string place(const std::string& list, std::size_t index) { return fmt::format("{}[{}]", list, index); }

/// {"upload": ID, "last": seconds}
void read_continue(Fields& fields, const RequestContext& context, JobSpec& spec) {
  const json* object = fields.object("continue");
  if (object == nullptr) return;
  Fields inner(*object, fields.named("continue"));
  spec.continue_upload = inner.text("upload", id_bytes).value_or("");
  spec.continue_seconds = inner.number("last", {0.0, context.limits.upload_seconds, true});
  if (!inner.has("upload")) inner.missing("upload", inner.named("upload") + " is missing: the id of what is to be continued");
  if (!spec.continue_upload.empty() && !is_id(spec.continue_upload))
    inner.refuse("upload", inner.named("upload") + " is not an id");
  if (auto done = inner.finish(); !done) fields.take(done.error());
}

void read_melody(Fields& fields, const ServedModel& model, JobSpec& spec) {
  const json* object = fields.object("melody");
  if (object == nullptr) return;
  Fields inner(*object, fields.named("melody"));
  spec.melody_upload = inner.text("upload", id_bytes).value_or("");
  if (!inner.has("upload")) inner.missing("upload", inner.named("upload") + " is missing: the id of the melody to follow");
  if (!spec.melody_upload.empty() && !is_id(spec.melody_upload)) inner.refuse("upload", inner.named("upload") + " is not an id");
  if (auto done = inner.finish(); !done) fields.take(done.error());
  if (model.config != nullptr && !model.config->is_melody()) {
    fields.refuse("melody",
                  fmt::format("the model {} cannot follow a melody; take a melody model (/v1/models says which can)", model.id),
                  "unsupported");
  }
}

/// In place of a prompt and a duration.
void read_segments(Fields& fields, const RequestContext& context, JobSpec& spec) {
  const json* list = fields.array("segments", static_cast<std::size_t>(context.limits.segments));
  const auto crossfade = fields.number("crossfade", {0.02, 10.0});
  if (crossfade) spec.request.crossfade_seconds = *crossfade;
  bool crossfaded = false;
  if (list != nullptr) {
    if (list->empty()) fields.refuse("segments", fields.named("segments") + " is empty; leave it out for one prompt");
    for (const char* other : {"prompt", "duration"}) {
      if (fields.has(other))
        fields.refuse(other, fmt::format("the segments say the prompts and how long each lasts; leave {} out", other));
    }
    for (std::size_t i = 0; i < list->size(); ++i) {
      Fields inner((*list)[i], place(fields.named("segments"), i));
      engine::Segment segment;
      segment.prompt = read_prompt(inner, "prompt", context).value_or("");
      segment.seconds = inner.number("duration", {0.0, context.limits.seconds, true}).value_or(0.0);
      if (inner.choice("join", {"continue", "crossfade"}) == "crossfade") segment.join = engine::Join::crossfaded;
      if (!inner.has("duration")) inner.missing("duration", inner.named("duration") + " is missing: the seconds of this segment");
      if (i == 0 && segment.join == engine::Join::crossfaded) {
        inner.refuse("join", "the first segment has nothing to be crossfaded with");
      }
      crossfaded = crossfaded || segment.join == engine::Join::crossfaded;
      if (auto done = inner.finish(); !done) fields.take(done.error());
      spec.request.segments.push_back(std::move(segment));
    }
  }
  if (crossfade && !crossfaded)
    fields.refuse("crossfade", "crossfade is for segments with \"join\": \"crossfade\", and there are none");
  if (spec.request.segments.empty()) return;
  spec.request.prompt = spec.request.segments.front().prompt;
  spec.request.seconds = engine::request_seconds(spec.request);
  if (spec.request.seconds > context.limits.seconds) {
    fields.refuse(
        "segments",
        fmt::format("the segments last {:g} s together; at most {:g} s are made", spec.request.seconds, context.limits.seconds),
        "out_of_range");
  }
}

void read_keeping(Fields& fields, const RequestContext& context, JobSpec& spec) {
  spec.title = fields.text("title", title_bytes).value_or("");
  if (!weights::single_line(spec.title)) fields.refuse("title", fields.named("title") + " must be one line");
  spec.keep = fields.flag("keep").value_or(true);
  spec.webhook = fields.text("webhook", url_bytes).value_or("");
  if (spec.webhook.empty()) return;
  if (auto allowed = check_webhook(spec.webhook, context.webhook_hosts); !allowed) {
    allowed.error().param = fields.named("webhook");
    fields.take(std::move(allowed).error());
  }
}

/// As short as the float is exact, so that 0.7F is written as 0.7.
double shortest(float value) { return std::stod(fmt::format("{}", value)); }

void write_output(nlohmann::ordered_json& out, const RenditionFormat& output) {
  const audio::FinishOptions& finish = output.finish;
  out["format"] = format_word(output.format);
  if (finish.sample_rate) out["sample_rate"] = *finish.sample_rate;
  if (finish.channels) out["channels"] = *finish.channels;
  if (!audio::is_lossy(output.format)) out["bits"] = 8 * audio::bytes_of_sample(output.samples);
  if (output.bit_rate > 0) out["bitrate"] = output.bit_rate;
  if (finish.loudness) out["loudness"] = *finish.loudness;
  if (finish.fade_in > 0.0) out["fade_in"] = finish.fade_in;
  if (finish.fade_out > 0.0) out["fade_out"] = finish.fade_out;
  if (finish.loop) out["loop"] = true;
  if (finish.gate) out["gate"] = finish.gate->threshold_db;
}

void write_segments(nlohmann::ordered_json& out, const engine::Request& request) {
  auto& list = out["segments"] = nlohmann::ordered_json::array();
  bool crossfaded = false;
  for (const engine::Segment& segment : request.segments) {
    list.push_back({{"prompt", segment.prompt}, {"duration", segment.seconds}});
    if (segment.join == engine::Join::crossfaded) list.back()["join"] = "crossfade";
    crossfaded = crossfaded || segment.join == engine::Join::crossfaded;
  }
  if (crossfaded) out["crossfade"] = request.crossfade_seconds;
}

}  // namespace

Parsed<ServedModel> RequestContext::model(const std::string& id) const {
  if (models.empty()) return refuse(503, "loading", "model", "no model is loaded");
  if (id.empty()) return models.front();
  std::vector<std::string> ids;
  for (const ServedModel& served : models) {
    if (served.id == id) return served;
    ids.push_back(served.id);
  }
  const auto nearest = nearest_name(id, ids);
  return refuse(404, "model_not_found", "model",
                fmt::format("there is no model '{}' here{}; GET /v1/models lists them", weights::printable(id, 60),
                            nearest ? " (did you mean " + *nearest + "?)" : ""));
}

bool is_id(std::string_view text) {
  const auto letter = [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '-' || c == '_';
  };
  return !text.empty() && text.size() <= id_bytes && std::all_of(text.begin(), text.end(), letter);
}

std::string_view format_word(audio::FileFormat format) {
  return format == audio::FileFormat::opus ? "ogg" : audio::name_of(format);
}

Parsed<JobSpec> read_music_request(const json& object, const RequestContext& context, const std::string& path) {
  Fields fields(object, path);
  const ServedModel model = read_model(fields, context);
  if (model.config == nullptr) return tl::unexpected(fields.finish().error());
  JobSpec spec;
  spec.family = "jobs";
  spec.model = model.id;
  spec.client = context.client;
  engine::Request& request = spec.request = engine::default_request(*model.config);
  request.prompt = read_prompt(fields, "prompt", context).value_or("");
  request.seconds = read_duration(fields, context, *model.config, default_seconds);
  read_segments(fields, context, spec);
  request.seed = read_seed(fields, context);
  read_sampling(fields, *model.config, request);
  read_strategy(fields, request);
  spec.takes = static_cast<int>(fields.integer("takes", 1, context.limits.takes).value_or(1));
  request.take = static_cast<int>(fields.integer("take", 1, max_take).value_or(1));
  read_continue(fields, context, spec);
  read_melody(fields, model, spec);
  read_keeping(fields, context, spec);
  if (fields.choice("priority", {"normal", "realtime"}) == "realtime") request.service = engine::Service::realtime;
  spec.output = read_output(fields, *model.config);
  if (!fields.has("prompt") && !fields.has("segments")) {
    fields.missing("prompt", fields.named("prompt") + " is missing (\"\" is music without one)");
  }
  check_request(fields, request, *model.config);
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return spec;
}

Parsed<JobSpec> parse_music_request(std::string_view body, const RequestContext& context) {
  CONTINUO_PARSE(const json object, parse_json_object(body, json_limits(context)));
  return read_music_request(object, context);
}

Parsed<std::vector<JobSpec>> parse_batch(std::string_view body, const RequestContext& context) {
  CONTINUO_PARSE(json object, parse_json_object(body, json_limits(context)));
  Fields fields(object);
  const char* const name = fields.has("requests") ? "requests" : "prompts";
  if (fields.has("requests") && fields.has("prompts")) {
    return refuse(422, "invalid_value", "requests", "give prompts, or whole requests; not both");
  }
  const json* found = fields.array(name, static_cast<std::size_t>(std::max(context.limits.batch, 0)));
  if (fields.failed()) return tl::unexpected(fields.finish().error());
  if (found == nullptr)
    return refuse(422, "missing_field", "prompts", "prompts is missing: a list of texts (or requests, a list of music requests)");
  if (found->empty()) return refuse(422, "invalid_value", name, fmt::format("{} is empty", name));
  const json list = *found;
  const bool whole = fields.has("requests");
  if (whole) {
    if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  } else if (fields.any_of({"prompt", "segments"})) {
    return refuse(422, "invalid_value", fields.has("prompt") ? "prompt" : "segments",
                  "a batch has its prompts in prompts; for more than that give whole requests in requests");
  }
  object.erase("prompts");
  if (!object.contains("seed") || object["seed"].is_null()) object["seed"] = context.draw_seed();
  std::vector<JobSpec> specs;
  for (std::size_t i = 0; i < list.size(); ++i) {
    const std::string where = place(name, i);
    if (!whole) object["prompt"] = list[i];
    auto spec = whole ? read_music_request(list[i], context, where) : read_music_request(object, context);
    if (!spec) {
      ApiError error = std::move(spec).error();
      if (!whole && error.param == "prompt") {
        error.param = where;
        error.message = where + error.message.substr(error.message.find(' '));
      }
      return tl::unexpected(std::move(error));
    }
    spec->family = "batch";
    specs.push_back(std::move(*spec));
  }
  return specs;
}

std::string music_request_json(const JobSpec& spec) {
  const engine::Request& request = spec.request;
  nlohmann::ordered_json out;
  out["model"] = spec.model;
  if (request.segments.empty()) {
    out["prompt"] = request.prompt;
    out["duration"] = request.seconds;
  } else {
    write_segments(out, request);
  }
  out["seed"] = request.seed;
  out["takes"] = spec.takes;
  if (request.take != 1) out["take"] = request.take;
  out["strategy"] = request.strategy == engine::Strategy::greedy ? "greedy" : "sample";
  out["temperature"] = shortest(request.temperature);
  out["top_k"] = request.top_k;
  out["top_p"] = shortest(request.top_p);
  out["guidance_scale"] = shortest(request.guidance);
  if (!spec.continue_upload.empty()) {
    out["continue"]["upload"] = spec.continue_upload;
    if (spec.continue_seconds) out["continue"]["last"] = *spec.continue_seconds;
  }
  if (!spec.melody_upload.empty()) out["melody"]["upload"] = spec.melody_upload;
  if (!spec.title.empty()) out["title"] = spec.title;
  if (!spec.keep) out["keep"] = false;
  if (request.service == engine::Service::realtime) out["priority"] = "realtime";
  write_output(out, spec.output);
  return out.dump(-1, ' ', false, json::error_handler_t::replace);
}

}  // namespace continuo::server
