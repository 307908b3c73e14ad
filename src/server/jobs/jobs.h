// How a job table is made, and what it can do beyond what the routes see.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/any_io_executor.hpp>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "server/jobs/job_observer.h"
#include "server/jobs/job_store.h"
#include "server/jobs/job_table.h"
#include "server/jobs/take_writer.h"
#include "server/jobs/uploaded_sounds.h"
#include "server/jobs/webhook.h"
#include "server/models.h"
#include "server/options.h"
#include "server/pool.h"

namespace continuo::server {

/// Seconds; the real clocks but in tests.
struct JobClock {
  std::function<double()> wall;    // since 1970
  std::function<double()> steady;  // of any beginning
  static JobClock system();
};

class Jobs : public JobTable {
 public:
  /// All of them or none.
  virtual Task<tl::expected<std::vector<std::shared_ptr<Job>>, Refusal>> submit_all(std::vector<JobSpec> specs) = 0;
  /// Pieces of a model that wait here, because the operator's limit of rows does not let them into the engine yet.
  virtual int held(std::string_view model) const = 0;
  /// Once, before the first submit(): takes up what a crash or the end of an earlier process left. Recordings that belong to
  /// nothing are deleted.
  virtual Task<void> resume() = 0;
};

/// What a table stands on. All of it outlives the table, and the engines may not; the I/O thread no longer runs when the table
/// goes, and io's context goes after it and after the pool.
struct JobParts {
  const Models* models = nullptr;
  Limits limits;
  std::vector<std::string> webhook_hosts;
  Pool* pool = nullptr;
  boost::asio::any_io_executor io;
  JobStore* store = nullptr;
  UploadedSounds* uploads = nullptr;  // null: none are taken
  JobObserver* observer = nullptr;    // null: nobody
  Webhooks* webhooks = nullptr;       // null: none are called
  std::string recordings;             // a folder that is there: TAKE.wav
  RecordingMaker recording;
  JobClock clock = JobClock::system();
};

std::unique_ptr<Jobs> make_job_table(JobParts parts);

}  // namespace continuo::server
