// Hugging Face's text-to-audio shape: {"inputs": text or [text], "parameters": {"generation_parameters": {...}}, "options":
// {...}}.
//
// Of transformers' generation parameters those that mean something here are taken: do_sample, temperature, top_k, top_p,
// max_new_tokens, guidance_scale, num_beams = 1; also duration and seed. The others are refused unless they say what happens
// anyway. The parameters may also stand in "parameters" itself, as older clients write them.
//
// max_new_tokens counts steps of the decoder, of which the delay pattern costs the last codebook its delay: N steps are N - 3
// frames of a model with delays 0 to 3, that is (N - 3) / 50 seconds.
#pragma once

#include <string_view>

#include "server/requests/music_request.h"

namespace continuo::server {

/// model: named by the path; empty: the default. family "huggingface"; output wav.
Parsed<JobSpec> parse_huggingface(std::string_view body, const std::string& model, const RequestContext& context);

}  // namespace continuo::server
