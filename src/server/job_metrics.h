// What the job table tells, as metrics and as lines of the log.
#pragma once

#include <chrono>
#include <functional>
#include <string>
#include <unordered_map>

#include "server/jobs/job_observer.h"
#include "server/log.h"
#include "server/metrics.h"

namespace continuo::server {

/// Both must outlive it. I/O thread only.
class JobMetrics : public JobObserver {
 public:
  using Clock = std::function<std::chrono::steady_clock::time_point()>;

  JobMetrics(Metrics& metrics, Log& log, Clock clock = std::chrono::steady_clock::now);

  void on_submitted(const Job& job) override;
  void on_started(const Job& job, double queue_seconds) override;
  void on_first_audio(const Job& job, double seconds) override;
  void on_ended(const Job& job, const std::string& reason, double seconds, double audio_seconds) override;
  void on_rejected(const std::string& reason) override;
  void on_trouble(const std::string& what) override;

 private:
  Metrics& metrics_;
  Log& log_;
  Clock clock_;
  std::unordered_map<std::string, std::chrono::steady_clock::time_point> started_;  // by id
};

}  // namespace continuo::server
