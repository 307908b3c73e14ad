#include "server/requests/generate.h"

#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"

namespace continuo::server {

using nlohmann::json;

namespace {

void read_first(Fields& fields, const RequestContext& context, GenerateRequest& generate) {
  generate.spec.request.prompt = read_prompt(fields, "prompt", context).value_or("");
  generate.use_cache = fields.flag("use_cache").value_or(false);
  if (!fields.has("prompt")) fields.missing("prompt", "prompt is missing (or text_prompt, in the other dialect)");
}

void read_second(Fields& fields, const RequestContext& context, engine::Request& request) {
  request.prompt = read_prompt(fields, "text_prompt", context).value_or("");
  if (const auto value = fields.number("temperature", {0.0, 100.0})) request.temperature = static_cast<float>(*value);
  if (const auto value = fields.number("top_p", {0.0, 1.0})) request.top_p = static_cast<float>(*value);
  const auto strategy = fields.choice("decoding_strategy", {"sampling", "greedy", "beam_search"});
  if (strategy == "greedy") request.strategy = engine::Strategy::greedy;
  if (strategy == "beam_search") {
    fields.refuse("decoding_strategy", "beam_search is not in this version; take sampling or greedy", "unsupported");
  }
  if (!fields.has("text_prompt")) fields.missing("text_prompt", "text_prompt is missing");
}

}  // namespace

Parsed<GenerateRequest> parse_generate(std::string_view body, const RequestContext& context) {
  CONTINUO_PARSE(const json object, parse_json_object(body, json_limits(context)));
  Fields fields(object);
  const bool first = fields.any_of({"prompt", "use_cache"});
  const bool second = fields.any_of({"text_prompt", "temperature", "top_p", "decoding_strategy"});
  if (first && second) {
    return refuse(422, "invalid_value", fields.has("prompt") ? "prompt" : "use_cache",
                  "these are two dialects at once: {prompt, duration, use_cache} and {text_prompt, duration, temperature, top_p, "
                  "decoding_strategy}; take the fields of one (POST /v1/jobs has all of them)");
  }
  const ServedModel model = read_model(fields, context);
  if (model.config == nullptr) return tl::unexpected(fields.finish().error());
  GenerateRequest generate;
  JobSpec& spec = generate.spec;
  spec.family = "generate";
  spec.model = model.id;
  spec.client = context.client;
  spec.request = engine::default_request(*model.config);
  spec.request.seconds = read_duration(fields, context, *model.config, default_seconds);
  spec.request.seed = read_seed(fields, context);
  if (second) {
    read_second(fields, context, spec.request);
  } else {
    read_first(fields, context, generate);
  }
  settle_output(spec.output, model.config->codec.sample_rate);
  check_request(fields, spec.request, *model.config);
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return generate;
}

}  // namespace continuo::server
