// The running server: everything it consists of, in the order in which it comes up and goes down.
//
// Up: options are checked, the data folder is opened (and locked), the port is taken, and only then are the models loaded, on
// another thread; meanwhile /health says so and everything else is answered with 503. Then unfinished jobs are taken up.
// Down (SIGTERM, SIGINT): nothing new is taken in, running jobs get their grace, the rest end with an error that says why, and
// connections are closed when their answers are through. A second signal ends the process at once.
#pragma once

#include <memory>
#include <vector>

#include "server/http/router.h"
#include "server/server.h"

namespace continuo::server {

class Service {
 public:
  static Result<std::unique_ptr<Service>> open(const ServerOptions& options, const std::vector<ModelFile>& models);
  ~Service();
  Service(const Service&) = delete;
  Service& operator=(const Service&) = delete;

  Status run(const engine::EngineOptions& engine);
  const Router& routes() const;

 private:
  struct State;
  explicit Service(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace continuo::server
