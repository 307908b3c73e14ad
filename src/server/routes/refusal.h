// A job that was not taken in, as an answer.
#pragma once

#include "server/http/exchange.h"
#include "server/jobs/job_table.h"
#include "server/requests/api_error.h"

namespace continuo::server {

/// 422 for what is wrong with the request, 429 for a full queue, 503 else.
ApiError api_error_of(const Refusal& refusal);

/// With Retry-After where waiting helps.
HttpResponse refusal_response(const Refusal& refusal);

}  // namespace continuo::server
