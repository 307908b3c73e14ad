// Pieces that wait in the table because the operator limited the rows that run at once, over all models. First come, first
// served: a wide piece is not overtaken by a narrow one.
#include <algorithm>
#include <cmath>

#include "server/jobs/table.h"

namespace continuo::server {

int rows_of(const JobSpec& spec) {
  bool present = !spec.melody_upload.empty();
  if (spec.request.segments.empty()) present = present || !spec.request.prompt.empty();
  for (const engine::Segment& segment : spec.request.segments) present = present || !segment.prompt.empty();
  return present && spec.request.guidance != 1.0F ? 2 : 1;
}

std::vector<Table::Entry> Table::passed(const std::vector<Entry>& entries) {
  for (const Entry& entry : entries) {
    entry.job->runs[entry.take].stage = TakeRun::Stage::held;
    held_.push_back(entry);
  }
  std::vector<Entry> through;
  while (!held_.empty()) {
    const Entry& first = held_.front();
    if (parts_.limits.rows > 0 && rows_used_ + first.job->rows > parts_.limits.rows) break;
    TakeRun& run = first.job->runs[first.take];
    run.stage = TakeRun::Stage::entering;
    run.has_rows = true;
    run.placed = false;
    run.eta.reset();
    rows_used_ += first.job->rows;
    through.push_back(first);
    held_.pop_front();
  }
  tell_held();
  return through;
}

void Table::give_back_rows(const Live& job, std::size_t take) {
  if (!std::exchange(job->runs[take].has_rows, false)) return;
  rows_used_ -= job->rows;
  if (auto through = passed({}); !through.empty()) enter_later(std::move(through));
}

int Table::held(std::string_view model) const {
  return static_cast<int>(
      std::count_if(held_.begin(), held_.end(), [&](const Entry& entry) { return entry.job->spec().model == model; }));
}

void Table::tell_held() {
  if (held_.empty()) return;
  // Rows are to this line what pages are to the engine's: who ends gives back, the first in line takes.
  std::vector<engine::Load> running, waiting;
  std::vector<std::optional<double>> known;  // of those that run, what their engines say
  int in_engines = 0;
  const double now = parts_.clock.steady();
  for (const Live& job : active_) {
    for (std::size_t i = 0; i < job->runs.size(); ++i) {
      if (!job->runs[i].has_rows) continue;
      if (job->runs[i].waits()) ++in_engines;
      const double left = 1.0 - job->takes()[i].made_seconds / std::max(job->whole_seconds(), 1e-9);
      const int steps = std::max(1, static_cast<int>(std::lround(left * job->frames)));
      running.push_back({running.size() + 1, job->rows, steps, job->rows});
      known.push_back(job->runs[i].eta ? std::optional(job->runs[i].remaining(now)) : std::nullopt);
    }
  }
  engine::StepTimes times;
  for (const Entry& entry : held_) {
    const LiveJob& job = *entry.job;
    waiting.push_back({running.size() + waiting.size() + 1, job.rows, std::max(1, job.frames), job.rows});
    const Models::Model* model = parts_.models->find(job.spec().model);
    if (!times.known() && model != nullptr && model->engine != nullptr) {
      if (const double step = model->engine->status().step_seconds; step > 0.0) times.step(2, step);
    }
  }
  const std::vector<double> ends =
      engine::finish_times(running, waiting, parts_.limits.rows - rows_used_, parts_.limits.rows, times);
  // Steps are not all that takes time (the codec, other models): the engines know of those that run how long they really take.
  double scale = 0.0;
  for (std::size_t i = 0; i < running.size(); ++i) {
    if (known[i] && ends[i] > 0.0) scale = std::max(scale, *known[i] / ends[i]);
  }
  if (scale <= 0.0) scale = 1.0;
  std::vector<Live> told;
  for (std::size_t i = 0; i < held_.size(); ++i) {
    TakeRun& run = held_[i].job->runs[held_[i].take];
    run.placed = true;
    run.place = in_engines + static_cast<int>(i);
    run.eta = scale * ends[running.size() + i];
    run.eta_at = now;
    told.push_back(held_[i].job);
  }
  for (const Live& job : told) job->placed();
}

}  // namespace continuo::server
