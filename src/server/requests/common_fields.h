// Fields that several dialects share, read one way. All of them keep their complaints in the Fields.
#pragma once

#include "server/requests/json.h"
#include "server/requests/music_request.h"

namespace continuo::server {

JsonLimits json_limits(const RequestContext& context);

/// "model"; the default one if it is absent (or unknown, which is refused).
ServedModel read_model(Fields& fields, const RequestContext& context);

/// A prompt within the limits.
std::optional<std::string> read_prompt(Fields& fields, const std::string& name, const RequestContext& context);

/// "duration", within the limits and at least a frame; `otherwise` if it is absent.
double read_duration(Fields& fields, const RequestContext& context, const weights::ModelConfig& config, double otherwise);

/// "seed", or a drawn one.
std::uint64_t read_seed(Fields& fields, const RequestContext& context);

/// "temperature", "top_k", "top_p", "guidance_scale" over what stands in the request. A top_k without a top_p means top_k, also
/// on a model whose own default is top_p, which would replace it.
void read_sampling(Fields& fields, const weights::ModelConfig& config, engine::Request& request);

/// "strategy": sample or greedy; beam search is refused in words.
void read_strategy(Fields& fields, engine::Request& request);
void refuse_beam_search(Fields& fields, const std::string& name);

/// Asks the engine; what it says is about the request as a whole.
void check_request(Fields& fields, const engine::Request& request, const weights::ModelConfig& config);

/// "format", "sample_rate", "channels", "bits", "bitrate", "loudness", "fade_in", "fade_out", "loop", "gate".
RenditionFormat read_output(Fields& fields, const weights::ModelConfig& config);

/// What follows from the format and the rest: rates that lossy formats have, room below full scale for them, two passes for what
/// needs the whole. `sample_rate` of the model.
void settle_output(RenditionFormat& output, int sample_rate);

}  // namespace continuo::server
