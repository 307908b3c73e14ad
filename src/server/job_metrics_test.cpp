#include "server/job_metrics.h"

#include <gtest/gtest.h>

namespace continuo::server {
namespace {

class FakeJob final : public Job {
 public:
  const std::string& id() const override { return id_; }
  const JobSpec& spec() const override { return spec_; }
  JobState state() const override { return state_; }
  std::optional<Error> error() const override { return std::nullopt; }
  int place() const override { return 0; }
  double eta_seconds() const override { return 0.0; }
  double progress() const override { return 0.0; }
  bool realtime() const override { return false; }
  const std::vector<JobTake>& takes() const override { return takes_; }
  double created() const override { return 0.0; }
  std::optional<double> started() const override { return std::nullopt; }
  std::optional<double> ended() const override { return std::nullopt; }
  const std::deque<JobEvent>& events() const override { return events_; }
  Wakes& changed() override { return changed_; }

  std::string id_ = "abc";
  JobSpec spec_;
  JobState state_ = JobState::finished;

 private:
  std::vector<JobTake> takes_;
  std::deque<JobEvent> events_;
  Wakes changed_;
};

TEST(JobMetricsTest, TheFactorIsOfTheTimeSinceTheStart) {
  const auto metrics = Metrics::create("1");
  Log::Options quiet;
  quiet.level = Log::Level::off;
  const auto log = Log::create(quiet);
  std::chrono::steady_clock::time_point now{};
  JobMetrics watcher(*metrics, *log, [&] { return now; });
  FakeJob job;
  job.spec_.family = "speech";
  watcher.on_submitted(job);
  now += std::chrono::seconds(30);  // in the queue
  watcher.on_started(job, 30.0);
  watcher.on_first_audio(job, 31.0);
  now += std::chrono::seconds(5);
  watcher.on_ended(job, "finished", 35.0, 10.0);
  watcher.on_rejected("queue_full");
  const std::string text = metrics->text({});
  for (const char* line : {"continuo_requests_submitted_total{family=\"speech\"} 1", "continuo_queue_time_seconds_sum 30",
                           "continuo_time_to_first_audio_seconds_sum 31",
                           "continuo_requests_finished_total{reason=\"finished\"} 1", "continuo_request_duration_seconds_sum 35",
                           "continuo_real_time_factor_sum 0.5", "continuo_requests_rejected_total{reason=\"queue_full\"} 1"})
    EXPECT_NE(text.find(std::string("\n") + line + "\n"), std::string::npos) << line;
}

TEST(JobMetricsTest, WhatEndsInTheQueueHasNoFactor) {
  const auto metrics = Metrics::create("1");
  Log::Options quiet;
  quiet.level = Log::Level::off;
  const auto log = Log::create(quiet);
  JobMetrics watcher(*metrics, *log);
  FakeJob job;
  job.state_ = JobState::cancelled;
  watcher.on_submitted(job);
  watcher.on_ended(job, "cancelled", 1.0, 0.0);
  const std::string text = metrics->text({});
  EXPECT_NE(text.find("continuo_requests_finished_total{reason=\"cancelled\"} 1\n"), std::string::npos);
  EXPECT_NE(text.find("continuo_real_time_factor_count 0\n"), std::string::npos);
}

}  // namespace
}  // namespace continuo::server
