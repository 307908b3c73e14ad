// What a job table tells metrics and logs. I/O thread.
#pragma once

#include <string>

#include "server/jobs/job.h"

namespace continuo::server {

class JobObserver {
 public:
  virtual ~JobObserver() = default;
  virtual void on_submitted(const Job&) {}
  virtual void on_started(const Job&, [[maybe_unused]] double queue_seconds) {}
  /// The first sound of a job can be read.
  virtual void on_first_audio(const Job&, [[maybe_unused]] double seconds) {}
  /// reason: "finished", "cancelled", "stopping", "engine", "disk", "upload", "lost".
  virtual void on_ended(const Job&, [[maybe_unused]] const std::string& reason, [[maybe_unused]] double seconds,
                        [[maybe_unused]] double audio_seconds) {}
  virtual void on_rejected([[maybe_unused]] const std::string& reason) {}
  /// Its sound can no longer be had through its job, and the library has not got it.
  virtual void on_take_forgotten([[maybe_unused]] const std::string& take) {}
  /// For the log: what went wrong behind an answer that was right.
  virtual void on_trouble([[maybe_unused]] const std::string& what) {}
};

}  // namespace continuo::server
