#include "server/jobs/event_log.h"

#include <algorithm>

namespace continuo::server {

void EventLog::add(std::string name, std::string data) {
  if (events_.size() >= most_events) {
    const auto passing = [](const JobEvent& event) { return event.name == "progress" || event.name == "queued"; };
    const auto oldest = std::find_if(events_.begin(), events_.end(), passing);
    events_.erase(oldest != events_.end() ? oldest : events_.begin());
  }
  events_.push_back({next_++, std::move(name), std::move(data)});
}

bool EventLog::time_for_progress(double now) {
  if (now - told_progress_ < progress_seconds) return false;
  told_progress_ = now;
  return true;
}

}  // namespace continuo::server
