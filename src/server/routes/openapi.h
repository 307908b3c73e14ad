// GET /openapi.json.
#pragma once

#include <string>

#include "server/http/router.h"

namespace continuo::server {

class OpenApiRoutes {
 public:
  explicit OpenApiRoutes(const std::string& version);
  void add_to(Router& router);

 private:
  Task<void> get(Exchange& exchange);

  std::string text_;
};

}  // namespace continuo::server
