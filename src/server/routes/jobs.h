// The routes of jobs and batches: submit, look, cancel, and listen to events. A job's sound is in routes/audio.h.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <functional>

#include "server/http/router.h"
#include "server/jobs/jobs.h"
#include "server/requests/music_request.h"

namespace continuo::server {

/// What the routes stand on; all of it outlives them.
struct JobRoutes {
  Jobs* jobs = nullptr;
  boost::asio::any_io_executor io;
  Limits limits;
  /// What a request is read against, of this client's.
  std::function<RequestContext(const HttpRequest&)> context;
  double ping_seconds = 15.0;  // between comments that keep a stream of events open
};

void add_job_routes(Router& router, const JobRoutes& routes);

}  // namespace continuo::server
