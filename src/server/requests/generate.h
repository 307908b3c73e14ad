// POST /generate, in two dialects that are told apart by their fields and not mixed:
//   {"prompt", "duration", "use_cache"}
//   {"text_prompt", "duration", "temperature", "top_p", "decoding_strategy": "sampling" | "greedy"}
// Both may also say model and seed.
#pragma once

#include <optional>
#include <string_view>

#include "server/requests/music_request.h"

namespace continuo::server {

struct GenerateRequest {
  JobSpec spec;            // family "generate"; output is wav
  bool use_cache = false;  // offer a similar earlier prompt beside the job
};

Parsed<GenerateRequest> parse_generate(std::string_view body, const RequestContext& context);

/// What an Accept header asks for.
struct Accepted {
  bool json = false;                        // application/json is named, with a preference no lower than any audio's
  std::optional<audio::FileFormat> format;  // of the audio type named with the highest preference
};

/// Names alone count: */*, audio/* and no header at all ask for nothing in particular. q=0 is not asked for.
Accepted accepted_by(std::string_view accept);

}  // namespace continuo::server
