#include "fuzz/request_support.h"

#include <nlohmann/json.hpp>

#include "weights/text_check.h"

namespace continuo::fuzz {

namespace {

weights::ModelConfig usual_config(bool melody) {
  weights::ModelConfig config;
  config.decoder.codebooks = 4;
  config.decoder.codebook_size = 2048;
  config.decoder.delays = {0, 1, 2, 3};
  config.codec.sample_rate = 32'000;
  config.codec.ratios = {8, 5, 4, 4};
  config.melody.bins = melody ? 12 : 0;
  return config;
}

const weights::ModelConfig text_config = usual_config(false), melody_config = usual_config(true);

}  // namespace

const server::RequestContext& request_context() {
  static const server::RequestContext context = [] {
    server::RequestContext made;
    made.models = {{"small", &text_config}, {"melody", &melody_config}};
    made.draw_seed = [] { return std::uint64_t{7}; };
    made.webhook_hosts = {"hooks.example.org", "[::1]:9000"};
    made.client = "ip:127.0.0.1";
    return made;
  }();
  return context;
}

void check_api_error(const server::ApiError& error) {
  check_refusal({ErrorCode::invalid_argument, error.message});
  FUZZ_DEMAND(error.status == 400 || error.status == 404 || error.status == 413 || error.status == 422);
  FUZZ_DEMAND(!error.code.empty());
  FUZZ_DEMAND(weights::valid_utf8(error.param) && weights::single_line(error.param));
  const auto body = nlohmann::json::parse(server::error_body(error), nullptr, false);
  FUZZ_DEMAND(body.is_object() && body["error"]["message"] == error.message);
}

void check_spec(const server::JobSpec& spec) {
  const server::RequestContext& context = request_context();
  const auto model = context.model(spec.model);
  FUZZ_DEMAND(model && !spec.model.empty());
  FUZZ_DEMAND(engine::validate(spec.request, *model->config));
  FUZZ_DEMAND(engine::request_seconds(spec.request) <= context.limits.seconds);
  FUZZ_DEMAND(spec.takes >= 1 && spec.takes <= context.limits.takes);
  FUZZ_DEMAND(!spec.family.empty() && spec.client == context.client);
  FUZZ_DEMAND(spec.continue_upload.empty() || server::is_id(spec.continue_upload));
  FUZZ_DEMAND(spec.melody_upload.empty() || (server::is_id(spec.melody_upload) && model->config->is_melody()));
  FUZZ_DEMAND(audio::check_finish(spec.output.finish));
  FUZZ_DEMAND(spec.webhook.empty() || server::check_webhook(spec.webhook, context.webhook_hosts));
}

}  // namespace continuo::fuzz
