// A job as the table keeps it: what the routes see, and how far each take is on its way.
#pragma once

#include <utility>  // before Asio

#include <nlohmann/json_fwd.hpp>

#include "server/jobs/event_log.h"
#include "server/jobs/jobs.h"
#include "server/jobs/take_writer.h"

namespace continuo::server {

/// How far a take is.
struct TakeRun {
  enum class Stage {
    preparing,  // its uploads are read
    held,       // waits in the table: no rows are free
    entering,   // is handed to the engine
    engine,     // waits or runs there
    writing,    // the rest of its sound is written
    ended,
  };
  Stage stage = Stage::preparing;
  std::shared_ptr<engine::Job> piece;
  std::shared_ptr<TakeWriter> writer;
  bool has_rows = false;  // counted among the running ones
  bool placed = false;    // somebody told it a place
  int place = 0;
  bool started = false;
  std::optional<double> eta;  // when it was told
  double eta_at = 0.0;        // steady
  std::optional<Error> failure;
  std::string reason;  // of the failure

  double remaining(double now) const { return eta ? std::max(0.0, *eta - (now - eta_at)) : 0.0; }
  bool waits() const;      // known to wait
  bool unsettled() const;  // may run at once or wait: the engine has not said
};

class LiveJob final : public Job {
 public:
  /// takes: their ids.
  LiveJob(std::string id, JobSpec spec, std::vector<std::string> takes, double created, const JobClock& clock,
          std::int64_t first_event);

  const std::string& id() const override { return id_; }
  const JobSpec& spec() const override { return spec_; }
  JobState state() const override { return state_; }
  std::optional<Error> error() const override { return error_; }
  int place() const override;
  double eta_seconds() const override;
  double progress() const override;
  bool realtime() const override { return realtime_; }
  const std::vector<JobTake>& takes() const override { return takes_; }
  double created() const override { return created_; }
  std::optional<double> started() const override { return started_; }
  std::optional<double> ended() const override { return ended_; }
  const std::deque<JobEvent>& events() const override { return log_.events(); }
  Wakes& changed() override { return changed_; }

  bool over() const { return ended_.has_value(); }
  double age() const { return clock_.steady() - born_; }
  double whole_seconds() const { return engine::request_seconds(spec_.request); }
  double made_seconds() const;
  double age_at_end() const { return ended_steady_ - born_; }
  /// When a take is made, all included.
  double ended_at() const { return ended_steady_; }

  // What happened; each tells those who listen.
  void placed();
  void start(bool realtime);
  void made(std::size_t take, double seconds);
  void end_take(std::size_t take, JobState state);
  void end(JobState state, std::optional<Error> error);

  // For the table.
  engine::Request request;                           // of take 1, with what the uploads gave
  std::function<Result<GivenSamples>()> load_given;  // what a continued piece begins with; empty: nothing
  int rows = 1;                                      // of a take
  int frames = 0;                                    // of a take, of the codec
  Recording::Shape shape;
  std::vector<TakeRun> runs;
  std::vector<std::string> pinned;
  enum class Stop { none, cancelled, stopping } stop = Stop::none;
  bool withdrawn = false;  // submit() did not, or will not, return it
  bool recorded = false;
  bool accepted = false;                                          // submit() returned it; only then its observers hear of it
  std::optional<double> started_after, heard_after;               // seconds
  std::string reason;                                             // of its end
  bool heard = false;                                             // its first sound can be read
  std::shared_ptr<bool> unsaved = std::make_shared<bool>(false);  // a take did not get into the library; the store's lane only
  std::vector<JobTake>& own_takes() { return takes_; }

 private:
  void tell(const char* name, const nlohmann::ordered_json& data);

  std::string id_;
  JobSpec spec_;
  JobClock clock_;
  double created_, born_, ended_steady_ = 0.0;
  std::optional<double> started_, ended_;
  JobState state_ = JobState::queued;
  std::optional<Error> error_;
  bool realtime_ = false;
  int told_place_ = -1;
  std::vector<JobTake> takes_;
  EventLog log_;
  Wakes changed_;
};

}  // namespace continuo::server
