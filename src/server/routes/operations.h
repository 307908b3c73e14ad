// What operators and clients ask a server about itself: /health, /metrics, /props, /v1/models.
#pragma once

#include <functional>
#include <string>

#include "server/http/router.h"
#include "server/log.h"
#include "server/metrics.h"
#include "server/models.h"
#include "server/options.h"

namespace continuo::server {

enum class ServerState { loading, serving, stopping };

class OperationsRoutes {
 public:
  struct Needs {
    const ServerOptions& options;
    const Models& models;
    Metrics& metrics;
    const Log& log;
    std::function<ServerState()> state;
    std::function<int(const std::string& model)> held = {};  // pieces that wait before they come to an engine
  };

  /// All it needs, and this, outlive the router.
  explicit OperationsRoutes(Needs needs);
  void add_to(Router& router);

 private:
  Task<void> health(Exchange& exchange);
  Task<void> numbers(Exchange& exchange);
  Task<void> props(Exchange& exchange);
  Task<void> models(Exchange& exchange);
  Task<void> model(Exchange& exchange);

  Needs needs_;
  std::int64_t since_;  // seconds since 1970
};

/// Bodies of the answers. created: when the server started, in seconds since 1970.
std::string props_body(const ServerOptions& options, const Models& models);
std::string models_body(const Models& models, std::int64_t created);
std::string model_body(const Models::Model& model, bool is_default, std::int64_t created);

}  // namespace continuo::server
