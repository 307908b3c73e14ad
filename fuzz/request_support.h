// What the targets of the server's requests share: what a request is read against, and what a refusal must be.
#pragma once

#include "fuzz/fuzz_support.h"
#include "server/requests/music_request.h"

namespace continuo::fuzz {

/// Two models of the usual numbers, one of which follows melodies.
const server::RequestContext& request_context();

/// Text for a person and for a program, with a status that belongs to a client's fault.
void check_api_error(const server::ApiError& error);

/// Nothing is left to draw or to default, and the engine and the limits agree.
void check_spec(const server::JobSpec& spec);

}  // namespace continuo::fuzz
