// The library over HTTP: takes, earlier prompts, retention (docs/http.md). All takes of a server belong to all its clients.
#pragma once

#include <string>

#include "library/retention.h"
#include "library/takes.h"
#include "server/http/exchange.h"
#include "server/http/router.h"
#include "server/media/peaks.h"
#include "server/media/rendition.h"
#include "server/pool.h"
#include "server/takes_service.h"

namespace continuo::server {

class TakesRoutes {
 public:
  /// All of them outlive the routes, and these the requests.
  struct Parts {
    library::TakeLibrary& takes;
    library::Retention& retention;
    Prompts& prompts;
    Renditions& renditions;
    PeakTable& peaks;
    Pool& pool;
  };

  explicit TakesRoutes(const Parts& parts) : parts_(parts) {}
  TakesRoutes(const TakesRoutes&) = delete;
  TakesRoutes& operator=(const TakesRoutes&) = delete;

  void add_to(Router& router);
  /// What else there was of takes that are gone.
  void forget(const std::vector<library::RemovedTake>& removed);

 private:
  // routes/takes.cpp
  Task<void> list(Exchange& exchange);
  Task<void> get(Exchange& exchange);
  Task<void> change(Exchange& exchange);
  Task<void> remove(Exchange& exchange);
  Task<void> restore(Exchange& exchange);
  Task<void> settings(Exchange& exchange);
  // routes/takes_sound.cpp
  Task<void> audio(Exchange& exchange);
  Task<void> peaks(Exchange& exchange);
  // routes/retention.cpp
  Task<void> get_retention(Exchange& exchange);
  Task<void> put_retention(Exchange& exchange);
  Task<void> plan_retention(Exchange& exchange);
  Task<void> run_retention(Exchange& exchange);
  // routes/prompts.cpp
  Task<void> similar_prompts(Exchange& exchange);

  const Parts parts_;
};

}  // namespace continuo::server
