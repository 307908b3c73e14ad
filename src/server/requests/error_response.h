// Errors as HTTP answers.
#pragma once

#include "server/http/exchange.h"
#include "server/requests/api_error.h"

namespace continuo::server {

/// retry_after_seconds > 0: a Retry-After header, rounded up to whole seconds.
HttpResponse error_response(const ApiError& error, double retry_after_seconds = 0.0);

/// An answer with a JSON body.
HttpResponse json_response(int status, std::string body);

}  // namespace continuo::server
