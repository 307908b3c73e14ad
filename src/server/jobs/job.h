// A job: one request on its way through an engine, with the takes it makes, as the routes see it. I/O thread only.
#pragma once

#include <cstdint>
#include <deque>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "engine/engine.h"
#include "server/jobs/job_spec.h"
#include "server/media/recording.h"
#include "server/media/rendition.h"
#include "server/wake.h"

namespace continuo::server {

/// The spec as JSON and back: what is recorded, so that a restart makes the same music. Takes in what write made, nothing else.
std::string write_spec(const JobSpec& spec);
Result<JobSpec> read_spec(const std::string& text);

enum class JobState { queued, running, finished, failed, cancelled };
const char* name_of(JobState state);

/// A line of a job's story, numbered from 1.
struct JobEvent {
  std::int64_t number = 0;
  std::string name;  // queued, started, progress, take, finished, failed, cancelled
  std::string data;  // JSON
};

struct JobTake {
  std::string id;  // of the take in the library; cannot be guessed
  int number = 1;
  JobState state = JobState::queued;
  double made_seconds = 0.0;
  std::shared_ptr<Recording> recording;  // null until the job started
};

class Job {
 public:
  virtual ~Job() = default;
  virtual const std::string& id() const = 0;  // cannot be guessed
  virtual const JobSpec& spec() const = 0;
  virtual JobState state() const = 0;
  virtual std::optional<Error> error() const = 0;
  virtual int place() const = 0;           // 0: next, while queued
  virtual double eta_seconds() const = 0;  // until it is finished
  virtual double progress() const = 0;     // 0 to 1
  virtual bool realtime() const = 0;       // whether the engine promised to keep up
  virtual const std::vector<JobTake>& takes() const = 0;
  virtual double created() const = 0;  // seconds since 1970
  virtual std::optional<double> started() const = 0;
  virtual std::optional<double> ended() const = 0;
  /// The newest ones, as many as are kept; older ones are gone (progress is thinned out, the others stay).
  virtual const std::deque<JobEvent>& events() const = 0;
  /// Set at each event and each change of a recording.
  virtual Wakes& changed() = 0;
};

}  // namespace continuo::server
