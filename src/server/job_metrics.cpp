#include "server/job_metrics.h"

namespace continuo::server {

JobMetrics::JobMetrics(Metrics& metrics, Log& log, Clock clock) : metrics_(metrics), log_(log), clock_(std::move(clock)) {}

void JobMetrics::on_submitted(const Job& job) {
  const JobSpec& spec = job.spec();
  metrics_.submitted(spec.family);
  log_.info("job taken in", {{"job", job.id()},
                             {"family", spec.family},
                             {"client", spec.client},
                             {"model", spec.model},
                             {"length", engine::request_seconds(spec.request)},
                             {"takes", spec.takes},
                             {"prompt", spec.request.prompt}});
}

void JobMetrics::on_started(const Job& job, double queue_seconds) {
  started_.try_emplace(job.id(), clock_());
  metrics_.started(queue_seconds);
  log_.debug("job started", {{"job", job.id()}, {"waited", queue_seconds}});
}

void JobMetrics::on_first_audio(const Job& job, double seconds) {
  metrics_.first_audio(seconds);
  log_.debug("first sound", {{"job", job.id()}, {"seconds", seconds}});
}

void JobMetrics::on_ended(const Job& job, const std::string& reason, double seconds, double audio_seconds) {
  double work = 0.0;
  if (const auto found = started_.find(job.id()); found != started_.end()) {
    work = std::chrono::duration<double>(clock_() - found->second).count();
    started_.erase(found);
  }
  metrics_.ended(reason, seconds, work, audio_seconds);
  const bool failed = job.state() == JobState::failed;
  const auto error = job.error();
  log_.write(failed ? Log::Level::warning : Log::Level::info, "job ended",
             {{"job", job.id()},
              {"reason", reason},
              {"seconds", seconds},
              {"audio", audio_seconds},
              {"error", failed && error ? error->message : std::string()}});
}

void JobMetrics::on_rejected(const std::string& reason) {
  metrics_.rejected(reason);
  log_.info("request refused", {{"reason", reason}});
}

void JobMetrics::on_trouble(const std::string& what) { log_.warning(what); }

}  // namespace continuo::server
