// What the routes stand on. Everything outlives them; I/O thread.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <string>

#include "engine/engine.h"
#include "server/jobs/job_table.h"
#include "server/log.h"
#include "server/media/rendition.h"
#include "server/options.h"
#include "server/pool.h"
#include "server/requests/music_request.h"
#include "server/requests/scenes.h"

namespace continuo::server {

struct Parts {
  const ServerOptions& options;
  JobTable& jobs;
  Renditions& renditions;
  Pool& pool;
  const SceneTable& scenes;
  Log& log;
  boost::asio::any_io_executor io;
  /// What a client's requests are read against.
  std::function<RequestContext(const std::string& client)> context;
  /// Null: no such model.
  std::function<engine::Engine*(const std::string& model)> engine;
  /// A connection began (+1) or stopped (-1) to get sound while it is made.
  std::function<void(int change)> streams;
  /// Whether the server takes in new work.
  std::function<bool()> stopping;
};

}  // namespace continuo::server
