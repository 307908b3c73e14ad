// Where a job table writes down what must survive the process. Called on the pool, several calls at once are possible; the calls
// about one job come one after the other.
#pragma once

#include <string>
#include <vector>

#include "base/error.h"
#include "server/jobs/job_spec.h"
#include "server/media/recording.h"

namespace continuo::server {

struct JobRecord {
  std::string id;
  std::string text;
  double created = 0.0;  // seconds since 1970
  int tries = 0;         // how often an earlier process took it up again
};

/// A job that was taken up so often and did not end may be what ends the process.
inline constexpr int most_tries = 3;

/// A take that is made and whose recording is complete.
struct KeptTake {
  std::string id;
  std::string job;
  JobSpec spec;  // spec.request.take is this take's number
  std::string path;
  Recording::Shape shape;
  double created = 0.0;
};

class JobStore {
 public:
  virtual ~JobStore() = default;
  /// On the disk when it returns.
  virtual Status record(const JobRecord& job) = 0;
  /// One that is not there is no error.
  virtual Status remove(const std::string& id) = 0;
  /// The oldest first.
  virtual Result<std::vector<JobRecord>> unfinished() = 0;

  /// From now on the recording is the library's. A take that it has already stays as it is.
  virtual Status add_take(const KeptTake& take) = 0;
  /// Whether the library has a take of this id, one in the bin included.
  virtual Result<bool> has_take(const std::string& id) = 0;
};

}  // namespace continuo::server
