// The story of a job as numbered lines, bounded: progress comes at most twice a second, and when there are too many lines the
// oldest ones that only say how far it was are dropped. Numbers only grow, and are never given twice.
#pragma once

#include <cstdint>
#include <deque>
#include <string>

#include "server/jobs/job.h"

namespace continuo::server {

class EventLog {
 public:
  static constexpr double progress_seconds = 0.5;
  static constexpr std::size_t most_events = 256;

  /// first: the number of the first line. Lines of a job that a restart resumed go on above those that its readers have seen.
  explicit EventLog(std::int64_t first = 1) : next_(first) {}

  void add(std::string name, std::string data);
  /// Whether it is time to tell progress again; then it counts as told. now: seconds, of any clock that only goes forward.
  bool time_for_progress(double now);
  const std::deque<JobEvent>& events() const { return events_; }

 private:
  std::deque<JobEvent> events_;
  std::int64_t next_;
  double told_progress_ = -1e9;
};

}  // namespace continuo::server
