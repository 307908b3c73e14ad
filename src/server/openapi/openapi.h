// The OpenAPI description of the server's routes, which a person writes (openapi.json) and a test compares with the routes.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "server/http/router.h"

namespace continuo::server {

/// The file as it was at the build.
std::string_view openapi_text();

/// The same with this program's version in it.
std::string openapi_json(const std::string& version);

/// What the routes and the description say differently, a sentence each: routes that are not described, and what is described
/// without a route. Names in braces may differ.
std::vector<std::string> openapi_differences(const Router& router);

}  // namespace continuo::server
