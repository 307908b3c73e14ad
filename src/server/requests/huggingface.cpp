#include "server/requests/huggingface.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"

namespace continuo::server {

using nlohmann::json;

namespace {

/// A text, or a list of one.
void read_inputs(Fields& fields, const RequestContext& context, engine::Request& request) {
  const json* inputs = fields.any("inputs");
  if (inputs == nullptr) return fields.missing("inputs", "inputs is missing: the text");
  if (inputs->is_array() && inputs->size() != 1) {
    return fields.refuse("inputs", "inputs must be one text: one answer is one piece; POST /v1/batches makes several",
                         "unsupported");
  }
  const json holder{{"inputs", inputs->is_array() ? inputs->front() : *inputs}};
  Fields inner(holder);
  request.prompt = read_prompt(inner, "inputs", context).value_or("");
  if (holder["inputs"].is_null()) inner.refuse("inputs", "inputs must be a text", "invalid_type");
  if (auto done = inner.finish(); !done) fields.take(done.error());
}

/// Steps of the decoder: the last codebook comes later than the first by its delay, so the first and last frames cost steps.
void read_length(Fields& fields, const RequestContext& context, const weights::ModelConfig& config, bool& given,
                 engine::Request& request) {
  const auto& delays = config.decoder.delays;
  const int delay = delays.empty() ? 0 : *std::max_element(delays.begin(), delays.end());
  const double rate = config.codec.frame_rate();
  const double longest = std::min(context.limits.seconds, engine::longest_seconds);
  const auto most = static_cast<std::int64_t>(longest * rate) + delay;
  const auto steps = fields.integer("max_new_tokens", delay + 1, most);
  const bool seconds = fields.has("duration");
  const double duration = read_duration(fields, context, config, default_seconds);
  if (!fields.has("max_new_tokens") && !seconds) return;
  if (given || (fields.has("max_new_tokens") && seconds)) {
    fields.refuse("max_new_tokens", "max_new_tokens and duration both say the length; give it once");
  }
  given = true;
  request.seconds = steps ? static_cast<double>(*steps - delay) / rate : duration;
}

/// Those that mean something, those that may say what happens anyway, and nothing else.
void read_parameters(Fields& fields, const RequestContext& context, const weights::ModelConfig& config, bool& length,
                     std::optional<std::uint64_t>& seed, engine::Request& request) {
  read_length(fields, context, config, length, request);
  read_sampling(fields, config, request);
  if (const auto given = fields.seed("seed")) seed = given;
  if (const auto sampled = fields.flag("do_sample")) {
    request.strategy = *sampled ? engine::Strategy::sample : engine::Strategy::greedy;
  }
  if (fields.integer("num_beams", 1, 1000).value_or(1) != 1) refuse_beam_search(fields, "num_beams");
  if (fields.integer("num_beam_groups", 1, 1000).value_or(1) != 1) refuse_beam_search(fields, "num_beam_groups");
  fields.flag("use_cache");  // of keys and values in their library: the same sound either way
  const auto neutral = [&](const char* name, double means_nothing) {
    if (fields.number(name, {-1e9, 1e9}).value_or(means_nothing) == means_nothing) return;
    fields.refuse(name, fmt::format("{} cannot be honoured here; leave it out", fields.named(name)), "unsupported");
  };
  neutral("typical_p", 1.0);
  neutral("epsilon_cutoff", 0.0);
  neutral("eta_cutoff", 0.0);
  neutral("penalty_alpha", 0.0);
  neutral("repetition_penalty", 1.0);
  neutral("min_new_tokens", 0.0);
  neutral("min_length", 0.0);
  fields.flag("early_stopping");  // speaks of beams, of which there is one
  for (const char* name : {"max_length"}) {
    if (fields.any(name) != nullptr) {
      fields.refuse(name, fmt::format("{} counts in a way of its own; give max_new_tokens or duration", fields.named(name)),
                    "unsupported");
    }
  }
}

void read_options(Fields& fields) {
  const json* options = fields.object("options");
  if (options == nullptr) return;
  // Both speak of their hosting: an answer of before may be given again; a model that is not loaded may be waited for.
  Fields inner(*options, "options");
  inner.flag("use_cache");
  inner.flag("wait_for_model");
  if (auto done = inner.finish(); !done) fields.take(done.error());
}

}  // namespace

Parsed<JobSpec> parse_huggingface(std::string_view body, const std::string& model_id, const RequestContext& context) {
  CONTINUO_PARSE(const json object, parse_json_object(body, json_limits(context)));
  CONTINUO_PARSE(const ServedModel model, context.model(model_id));
  Fields fields(object);
  JobSpec spec;
  spec.family = "huggingface";
  spec.model = model.id;
  spec.client = context.client;
  engine::Request& request = spec.request = engine::default_request(*model.config);
  request.seconds = std::min(default_seconds, context.limits.seconds);
  read_inputs(fields, context, request);
  std::optional<std::uint64_t> seed;
  bool length = false;
  if (const json* parameters = fields.object("parameters")) {
    Fields outer(*parameters, "parameters");
    const json* generation = outer.object("generation_parameters");
    read_parameters(outer, context, *model.config, length, seed, request);
    if (generation != nullptr) {
      Fields inner(*generation, "parameters.generation_parameters");
      read_parameters(inner, context, *model.config, length, seed, request);
      if (auto done = inner.finish(); !done) outer.take(done.error());
    }
    if (auto done = outer.finish(); !done) fields.take(done.error());
  }
  read_options(fields);
  request.seed = seed ? *seed : context.draw_seed();
  settle_output(spec.output, model.config->codec.sample_rate);
  check_request(fields, request, *model.config);
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return spec;
}

}  // namespace continuo::server
