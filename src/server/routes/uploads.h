// POST /v1/uploads (a sound as the body, or as the field "file" of a form), GET and DELETE /v1/uploads/{id}.
#pragma once

#include <string>

#include "server/http/router.h"
#include "server/options.h"
#include "server/pool.h"
#include "server/uploads.h"

namespace continuo::server {

class UploadRoutes {
 public:
  /// All of it outlives the router.
  UploadRoutes(Uploads& uploads, Pool& pool, const Limits& limits) : uploads_(uploads), pool_(pool), limits_(limits) {}
  void add_to(Router& router);

 private:
  Task<void> post(Exchange& exchange);
  Task<void> get(Exchange& exchange);
  Task<void> remove(Exchange& exchange);

  Uploads& uploads_;
  Pool& pool_;
  const Limits& limits_;
};

/// {"id", "object": "upload", "seconds", "sample_rate", "channels", "bytes", "created", "expires"}.
std::string upload_json(const Upload& upload);

}  // namespace continuo::server
