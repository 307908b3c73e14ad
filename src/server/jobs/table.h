// The job table. Its parts by file: submit.cpp takes jobs in, follow.cpp brings them through the engine, rows.cpp holds back what
// the operator's limit of rows does not let run, restart.cpp takes up what an earlier process left and ends what this one leaves,
// table.cpp finds and forgets.
#pragma once

#include <utility>  // before Asio

#include <boost/asio/steady_timer.hpp>
#include <deque>
#include <map>
#include <unordered_set>

#include "server/jobs/jobs.h"
#include "server/jobs/live_job.h"
#include "server/jobs/port.h"

namespace continuo::server {

class Table final : public Jobs {
 public:
  explicit Table(JobParts parts);
  ~Table() override;

  Task<tl::expected<std::shared_ptr<Job>, Refusal>> submit(JobSpec spec) override;
  Task<tl::expected<std::vector<std::shared_ptr<Job>>, Refusal>> submit_all(std::vector<JobSpec> specs) override;
  std::pair<Lookup, std::shared_ptr<Job>> find(const std::string& id) const override;
  std::vector<std::shared_ptr<Job>> list() const override;
  void cancel(const std::string& id) override;
  double backlog_seconds() const override;
  Task<void> drain(double grace_seconds) override;
  Task<void> resume() override;
  int held(std::string_view model) const override;

 private:
  using Live = std::shared_ptr<LiveJob>;
  struct Entry {
    Live job;
    std::size_t take = 0;
  };
  struct Line {
    int waiting = 0;
    int unsettled = 0;
  };

  // submit.cpp
  std::optional<Refusal> check(const JobSpec& spec) const;
  /// As far as it can be known before the sound is read.
  std::optional<Refusal> check_uploads(const LiveJob& job, std::optional<double> continued) const;
  Line line() const;
  Refusal full(int pieces) const;
  /// Whether so many pieces more may be taken in. tentative: only if none of them waits beyond the limit, which the engine tells.
  Task<std::optional<Refusal>> room(int pieces, bool& tentative);
  Task<void> settle();
  tl::expected<Live, Refusal> make(JobSpec spec);
  void shape(LiveJob& job) const;
  Task<Status> record(std::vector<Live> jobs);
  void withdraw(const std::vector<Live>& jobs);
  void accept(const Live& job);
  std::optional<Refusal> pin(LiveJob& job);
  /// Hands over what needs no uploads; the rest is prepared and follows later.
  Task<std::optional<Error>> set_out(std::vector<Live> jobs);
  Task<void> prepare(Live job);
  Refusal rejected(Refusal refusal) const;

  // rows.cpp
  /// Those of them that may run now; the others are held.
  std::vector<Entry> passed(const std::vector<Entry>& entries);
  void give_back_rows(const Live& job, std::size_t take);
  void tell_held();

  // follow.cpp
  /// Submits them to their engine. What it refuses has failed; the first such error.
  Task<std::optional<Error>> enter(std::vector<Entry> entries);
  void enter_later(std::vector<Entry> entries);
  void follow(const Live& job, std::size_t take);
  void take_event(const Live& job, std::size_t take, engine::Event event);
  void begin_writing(const Live& job, std::size_t take);
  void written(const Live& job, std::size_t take);
  void fail_take(const Live& job, std::size_t take, Error error, std::string reason);
  void end_take(const Live& job, std::size_t take, JobState state);
  void end_job(const Live& job);
  /// Tells observers of the end of an accepted job.
  void tell_end(const Live& job);
  void stop(const Live& job, LiveJob::Stop why);
  void keep_take(const Live& job, std::size_t take);
  std::string path_of(const std::string& take) const { return parts_.recordings + "/" + take + ".wav"; }

  // restart.cpp
  Task<void> resume_one(JobRecord record);
  Task<void> delete_orphans();
  bool stays_recorded(const LiveJob& job) const { return job.recorded && job.stop == LiveJob::Stop::stopping; }

  // table.cpp
  /// Runs on the store's lane, in order.
  void on_store(std::function<Status()> work, std::string what);
  void insert(const Live& job);
  bool forgotten(const LiveJob& job) const;
  void sweep();
  void sweep_later();
  void forget(const Live& job);
  void trouble(const std::string& what) const;

  JobParts parts_;
  JobObserver nobody_;
  JobObserver& observer_;
  std::shared_ptr<Port> port_;
  std::shared_ptr<Pool::Lane> store_lane_;
  int storing_ = 0;                   // works that are on the store's lane
  std::map<std::string, Live> jobs_;  // accepted, not forgotten
  std::deque<Live> order_;            // the same, the oldest first
  std::vector<Live> active_;          // not ended, accepted or not
  std::deque<Entry> held_;
  int rows_used_ = 0;
  bool stopping_ = false;
  Wakes moved_;  // something began or ended
  std::deque<std::string> gone_order_;
  std::unordered_set<std::string> gone_;  // ids of forgotten jobs, the newest 10,000
  boost::asio::steady_timer sweeping_;
  bool sweep_planned_ = false;
};

/// The rows that a take of this needs in each step, as the engine counts them.
int rows_of(const JobSpec& spec);

/// What a record holds besides the spec: the ids of the takes.
std::string write_record(const JobSpec& spec, const std::vector<JobTake>& takes);
struct ReadRecord {
  JobSpec spec;
  std::vector<std::string> takes;
};
Result<ReadRecord> read_record(const std::string& text);

}  // namespace continuo::server
