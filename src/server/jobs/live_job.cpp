#include "server/jobs/live_job.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "server/jobs/job_json.h"

namespace continuo::server {

using Json = nlohmann::ordered_json;

const char* name_of(JobState state) {
  switch (state) {
    case JobState::queued: return "queued";
    case JobState::running: return "running";
    case JobState::finished: return "finished";
    case JobState::failed: return "failed";
    case JobState::cancelled: return "cancelled";
  }
  return "";
}

bool TakeRun::waits() const {
  if (stage == Stage::preparing || stage == Stage::held) return true;
  return stage == Stage::engine && placed && !started && piece->state() == engine::JobState::queued;
}

bool TakeRun::unsettled() const {
  if (stage == Stage::entering) return true;
  return stage == Stage::engine && !placed && !started && piece->state() == engine::JobState::queued;
}

LiveJob::LiveJob(std::string id, JobSpec spec, std::vector<std::string> takes, double created, const JobClock& clock,
                 std::int64_t first_event)
    : id_(std::move(id)), spec_(std::move(spec)), clock_(clock), created_(created), born_(clock.steady()), log_(first_event) {
  request = spec_.request;
  runs.resize(takes.size());
  for (std::string& take : takes) {
    JobTake& shown = takes_.emplace_back();
    shown.id = std::move(take);
    shown.number = static_cast<int>(takes_.size());
  }
}

int LiveJob::place() const {
  if (state_ != JobState::queued) return 0;
  int least = -1;
  for (const TakeRun& run : runs) {
    if (run.waits() && run.placed && (least < 0 || run.place < least)) least = run.place;
  }
  return std::max(least, 0);
}

double LiveJob::eta_seconds() const {
  double most = 0.0;
  if (over()) return most;
  for (const TakeRun& run : runs) {
    if (run.stage != TakeRun::Stage::ended) most = std::max(most, run.remaining(clock_.steady()));
  }
  return most;
}

double LiveJob::made_seconds() const {
  double sum = 0.0;
  for (const JobTake& take : takes_) sum += take.made_seconds;
  return sum;
}

double LiveJob::progress() const {
  if (state_ == JobState::finished) return 1.0;
  const double whole = whole_seconds() * static_cast<double>(takes_.size());
  return whole > 0.0 ? std::clamp(made_seconds() / whole, 0.0, 1.0) : 0.0;
}

void LiveJob::tell(const char* name, const Json& data) {
  log_.add(name, data.dump(-1, ' ', false, Json::error_handler_t::replace));
  changed_.set_all();
}

void LiveJob::placed() {
  if (state_ != JobState::queued || place() == told_place_) return;
  told_place_ = place();
  tell("queued", {{"place", told_place_}, {"eta_seconds", eta_seconds()}});
}

void LiveJob::start(bool realtime) {
  realtime_ = realtime_ || realtime;
  if (state_ != JobState::queued) return;
  state_ = JobState::running;
  started_ = clock_.wall();
  tell("started", {{"realtime", realtime_}, {"eta_seconds", eta_seconds()}});
}

void LiveJob::made(std::size_t take, double seconds) {
  takes_[take].made_seconds = std::min(std::max(takes_[take].made_seconds, seconds), whole_seconds());
  if (!log_.time_for_progress(clock_.steady())) return;
  Json each = Json::array();
  for (const JobTake& one : takes_) each.push_back({{"number", one.number}, {"seconds", one.made_seconds}});
  tell("progress", {{"progress", progress()}, {"eta_seconds", eta_seconds()}, {"takes", each}});
}

void LiveJob::end_take(std::size_t index, JobState state) {
  JobTake& take = takes_[index];
  TakeRun& run = runs[index];
  run.stage = TakeRun::Stage::ended;
  take.state = state;
  if (state == JobState::finished) take.made_seconds = whole_seconds();
  Json data{{"number", take.number}, {"id", take.id}, {"state", name_of(state)}, {"seconds", take.made_seconds}};
  if (state == JobState::failed && run.failure) data["error"] = error_json(*run.failure);
  tell("take", data);
}

void LiveJob::end(JobState state, std::optional<Error> error) {
  state_ = state;
  error_ = std::move(error);
  ended_ = clock_.wall();
  ended_steady_ = clock_.steady();
  Json data = Json::object();
  if (error_) data["error"] = error_json(*error_);
  if (state == JobState::finished) data["seconds"] = made_seconds();
  tell(name_of(state), data);
}

}  // namespace continuo::server
