// All jobs of a server: takes them in within the limits, follows them through the engine, writes their sound to recordings, and
// remembers those that ended for a while. I/O thread only; sound and the database are written on the pool.
//
// What is accepted is not lost: a job is recorded in the database before submit() returns, and its record goes when it ended.
// After a crash the unfinished ones are submitted again under the same ids, with the same seeds, and make the same music; those
// that cannot be are failed with the reason. Jobs that belong to a connection are not recorded.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "base/error.h"
#include "server/http/exchange.h"
#include "server/jobs/job.h"

namespace continuo::server {

/// Why a job was not taken in.
struct Refusal {
  enum class Kind { invalid, queue_full, stopping, unavailable } kind = Kind::invalid;
  std::string message;
  double retry_after_seconds = 0.0;  // of queue_full: from the remaining work of those before it
  std::string reason;                // for metrics: "queue_full", "does_not_fit", ...
};

class JobTable {
 public:
  enum class Lookup { found, expired, unknown };

  virtual ~JobTable() = default;
  virtual Task<tl::expected<std::shared_ptr<Job>, Refusal>> submit(JobSpec spec) = 0;
  /// expired: there was one of this id.
  virtual std::pair<Lookup, std::shared_ptr<Job>> find(const std::string& id) const = 0;
  /// All that are known, the newest first.
  virtual std::vector<std::shared_ptr<Job>> list() const = 0;
  /// Ends it within a step; an ended one stays as it is.
  virtual void cancel(const std::string& id) = 0;
  /// Seconds until all work that is taken in is done.
  virtual double backlog_seconds() const = 0;

  /// Takes in nothing more; after the grace the rest is cancelled with an event that says so. Returns when none is running.
  virtual Task<void> drain(double grace_seconds) = 0;
};

}  // namespace continuo::server
