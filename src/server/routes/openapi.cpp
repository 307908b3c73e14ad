#include "server/routes/openapi.h"

#include "server/openapi/openapi.h"
#include "server/requests/error_response.h"

namespace continuo::server {

OpenApiRoutes::OpenApiRoutes(const std::string& version) : text_(openapi_json(version)) {}

void OpenApiRoutes::add_to(Router& router) {
  router.add("GET", "/openapi.json", [this](Exchange& exchange) { return get(exchange); });
}

Task<void> OpenApiRoutes::get(Exchange& exchange) {
  HttpResponse response = json_response(200, text_);
  co_await exchange.send(std::move(response));
}

}  // namespace continuo::server
