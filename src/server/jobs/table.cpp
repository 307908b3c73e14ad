#include "server/jobs/table.h"

#include <algorithm>
#include <chrono>
#include <cstdio>

namespace continuo::server {

namespace {

constexpr std::size_t most_gone = 10'000;

}  // namespace

JobClock JobClock::system() {
  return {[] { return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count(); },
          [] { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }};
}

std::unique_ptr<Jobs> make_job_table(JobParts parts) { return std::make_unique<Table>(std::move(parts)); }

Table::Table(JobParts parts)
    : parts_(std::move(parts)),
      observer_(parts_.observer != nullptr ? *parts_.observer : nobody_),
      port_(std::make_shared<Port>(parts_.io)),
      store_lane_(parts_.pool->lane()),
      sweeping_(parts_.io) {}

Table::~Table() {
  port_->close();
  for (const Live& job : active_) {
    for (TakeRun& run : job->runs) {
      if (run.writer) run.writer->leave();
      run.piece.reset();  // which cancels it
    }
  }
}

void Table::trouble(const std::string& what) const { observer_.on_trouble(what); }

void Table::on_store(std::function<Status()> work, std::string what) {
  ++storing_;
  store_lane_->post([this, port = port_, work = std::move(work), what = std::move(what)] {
    const Status status = work();
    port->post([this, what, error = status ? std::string() : status.error().message] {
      --storing_;
      if (!error.empty()) trouble(what + ": " + error);
      moved_.set_all();
    });
  });
}

void Table::insert(const Live& job) {
  jobs_[job->id()] = job;
  order_.push_back(job);
}

bool Table::forgotten(const LiveJob& job) const {
  return job.over() && parts_.clock.steady() - job.ended_at() >= parts_.limits.job_keep_seconds;
}

std::pair<JobTable::Lookup, std::shared_ptr<Job>> Table::find(const std::string& id) const {
  const auto found = jobs_.find(id);
  if (found == jobs_.end()) return {gone_.contains(id) ? Lookup::expired : Lookup::unknown, nullptr};
  if (forgotten(*found->second)) return {Lookup::expired, nullptr};
  return {Lookup::found, found->second};
}

std::vector<std::shared_ptr<Job>> Table::list() const {
  std::vector<std::shared_ptr<Job>> all;
  for (auto job = order_.rbegin(); job != order_.rend(); ++job) {
    if (!forgotten(**job)) all.push_back(*job);
  }
  return all;
}

void Table::cancel(const std::string& id) {
  if (const auto found = jobs_.find(id); found != jobs_.end()) stop(Live(found->second), LiveJob::Stop::cancelled);
}

double Table::backlog_seconds() const {
  double most = 0.0;
  for (const Live& job : active_) most = std::max(most, job->eta_seconds());
  return most;
}

void Table::sweep() {
  std::vector<Live> old;
  auto ended =
      static_cast<std::int64_t>(std::count_if(order_.begin(), order_.end(), [](const Live& job) { return job->over(); }));
  for (const Live& job : order_) {
    if (!job->over() || (!forgotten(*job) && ended <= parts_.limits.jobs_kept)) continue;
    --ended;
    old.push_back(job);
  }
  for (const Live& job : old) forget(job);
}

void Table::sweep_later() {
  if (sweep_planned_) return;
  const auto first = std::find_if(order_.begin(), order_.end(), [](const Live& job) { return job->over(); });
  if (first == order_.end()) return;
  sweep_planned_ = true;
  const double least = 0.05;
  const double left = parts_.limits.job_keep_seconds - (parts_.clock.steady() - (*first)->ended_at());
  sweeping_.expires_after(std::chrono::milliseconds(std::lround(1e3 * std::clamp(left, least, 60.0))));
  sweeping_.async_wait([this, port = port_](const boost::system::error_code& error) {
    // A table that is gone cancelled it.
    if (error) return;
    port->post([this] {
      sweep_planned_ = false;
      sweep();
      sweep_later();
    });
  });
}

void Table::forget(const Live& job) {
  jobs_.erase(job->id());
  std::erase(order_, job);
  gone_.insert(job->id());
  gone_order_.push_back(job->id());
  if (gone_order_.size() > most_gone) {
    gone_.erase(gone_order_.front());
    gone_order_.pop_front();
  }
  if (stays_recorded(*job)) return;  // the next start goes on with it
  for (const JobTake& take : job->takes()) {
    if (take.state == JobState::finished && job->spec().keep) continue;  // the library's, or not in it yet
    observer_.on_take_forgotten(take.id);
    store_lane_->post([path = path_of(take.id)] { std::remove(path.c_str()); });
  }
}

}  // namespace continuo::server
