// Errors as HTTP answers.
#pragma once

#include <optional>

#include "server/http/exchange.h"
#include "server/requests/api_error.h"

namespace continuo::server {

/// retry_after_seconds > 0: a Retry-After header, rounded up to whole seconds.
HttpResponse error_response(const ApiError& error, double retry_after_seconds = 0.0);

/// An answer with a JSON body.
HttpResponse json_response(int status, std::string body);

/// A body that says it is something else than JSON. Browsers' forms cannot say that they are JSON, so that no page can post one
/// here without asking first.
std::optional<ApiError> wrong_media_type(const HttpRequest& request);

}  // namespace continuo::server
