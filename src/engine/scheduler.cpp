#include "engine/scheduler.h"

#include <algorithm>
#include <cmath>

namespace continuo::engine {

void Scheduler::add(JobId id, Service service) { entries_[id] = {service, arrivals_++, least_served(), false}; }

void Scheduler::remove(JobId id) { entries_.erase(id); }

void Scheduler::demote(JobId id) {
  const auto entry = entries_.find(id);
  if (entry != entries_.end()) entry->second.service = Service::normal;
}

std::int64_t Scheduler::least_served() const {
  std::int64_t least = std::numeric_limits<std::int64_t>::max();
  for (const auto& [id, entry] : entries_) {
    if (entry.service == Service::normal) least = std::min(least, entry.served);
  }
  return least == std::numeric_limits<std::int64_t>::max() ? 0 : least / slice_steps * slice_steps;
}

std::vector<JobId> Scheduler::pick(std::span<const Candidate> ready) {
  ++steps_;
  std::vector<Candidate> realtime;
  struct Turn {
    Entry before;
    Candidate candidate;
  };
  std::vector<Turn> normal;
  for (const Candidate& candidate : ready) {
    const auto entry = entries_.find(candidate.id);
    if (entry == entries_.end()) continue;
    if (entry->second.service == Service::realtime) {
      realtime.push_back(candidate);
    } else {
      normal.push_back({entry->second, candidate});
    }
  }
  std::stable_sort(realtime.begin(), realtime.end(), [](const Candidate& a, const Candidate& b) { return a.dry_in < b.dry_in; });
  std::stable_sort(normal.begin(), normal.end(), [](const Turn& a, const Turn& b) {
    const Entry &left = a.before, &right = b.before;
    if (left.passed_over != right.passed_over) return left.passed_over;
    if (left.served / slice_steps != right.served / slice_steps) return left.served / slice_steps < right.served / slice_steps;
    return left.arrival < right.arrival;
  });
  const bool hurry = !realtime.empty() && realtime.front().dry_in < close_to_dry && steps_ % rescue_period != 0;

  std::vector<JobId> picked;
  int room = max_rows_;
  const auto take = [&](const Candidate& candidate) {
    Entry& entry = entries_.at(candidate.id);
    // One that is wider than a whole step still has to run: alone.
    entry.passed_over = candidate.rows > room && !(picked.empty() && candidate.rows > max_rows_);
    if (entry.passed_over) return;
    room -= candidate.rows;
    ++entry.served;
    picked.push_back(candidate.id);
  };
  // In a rescue step the normal piece whose turn it is goes before the streams that are not in danger.
  if (!hurry && !normal.empty() && steps_ % rescue_period == 0) {
    take(normal.front().candidate);
    normal.erase(normal.begin());
  }
  for (const Candidate& candidate : realtime) take(candidate);
  if (!hurry) {
    for (const Turn& each : normal) take(each.candidate);
  }
  return picked;
}

void Admission::wait(JobId id, int pages) {
  ++moves_;
  line_.push_back({id, pages, 0});
}

void Admission::remove(JobId id) {
  ++moves_;
  std::erase_if(line_, [id](const Waiting& waiting) { return waiting.id == id; });
}

JobId Admission::admit(int free_pages) {
  for (std::size_t i = 0; i < line_.size(); ++i) {
    if (line_[i].pages <= free_pages) {
      const JobId id = line_[i].id;
      for (std::size_t before = 0; before < i; ++before) ++line_[before].overtaken;
      line_.erase(line_.begin() + static_cast<std::ptrdiff_t>(i));
      ++moves_;
      return id;
    }
    if (line_[i].overtaken >= most_overtakings) return 0;
  }
  return 0;
}

int Admission::place(JobId id) const {
  for (std::size_t i = 0; i < line_.size(); ++i) {
    if (line_[i].id == id) return static_cast<int>(i);
  }
  return -1;
}

void StepTimes::step(int rows, double seconds) {
  const double fade = 0.98;
  for (double* sum : {&weight_, &rows_, &rows_squared_, &seconds_, &rows_seconds_}) *sum *= fade;
  weight_ += 1.0;
  rows_ += rows;
  rows_squared_ += static_cast<double>(rows) * rows;
  seconds_ += seconds;
  rows_seconds_ += rows * seconds;
  ++samples_;
  steps_.add(seconds);
  last_rows_ = rows;
}

void StepTimes::codec(int frames, double seconds) {
  codec_frames_ = 0.95 * codec_frames_ + frames;
  codec_seconds_ = 0.95 * codec_seconds_ + seconds;
  codec_passes_.add(seconds);
  frames_ += frames;
}

double StepTimes::predict(int rows, int frames) const {
  if (weight_ <= 0.0) return 0.0;
  const double mean_rows = rows_ / weight_, mean = seconds_ / weight_;
  const double spread = rows_squared_ / weight_ - mean_rows * mean_rows;
  // With one width of steps only, the time is taken to grow in proportion: too careful rather than too bold.
  double slope = spread > 1e-3 ? (rows_seconds_ / weight_ - mean_rows * mean) / spread : mean / std::max(mean_rows, 1.0);
  slope = std::clamp(slope, 0.0, mean / std::max(mean_rows, 1.0));
  const double codec = codec_frames_ > 0.0 ? codec_seconds_ / codec_frames_ * frames : 0.0;
  return std::max(mean + slope * (rows - mean_rows), 0.1 * mean) + codec;
}

std::vector<double> finish_times(std::span<const Load> running, std::span<const Load> waiting, int free_pages, int max_rows,
                                 const StepTimes& times) {
  struct Active {
    std::size_t index;
    Load load;
  };
  std::vector<Active> active;
  std::vector<double> ends(running.size() + waiting.size(), 0.0);
  for (std::size_t i = 0; i < running.size(); ++i) active.push_back({i, running[i]});
  std::size_t next = 0;
  double now = 0.0;
  const auto admit = [&] {
    while (next < waiting.size() && (waiting[next].pages <= free_pages || active.empty())) {
      free_pages -= waiting[next].pages;
      active.push_back({running.size() + next, waiting[next]});
      ++next;
    }
  };
  admit();
  while (!active.empty()) {
    int rows = 0;
    for (const Active& each : active) rows += each.load.rows;
    // More rows than a step takes: the steps are shared out, so everybody advances by less than one a step.
    const double share = rows > max_rows ? static_cast<double>(max_rows) / rows : 1.0;
    int least = active.front().load.steps_left;
    for (const Active& each : active) least = std::min(least, each.load.steps_left);
    now += least / share *
           times.predict(std::min(rows, max_rows), static_cast<int>(std::lround(share * static_cast<double>(active.size()))));
    for (Active& each : active) {
      each.load.steps_left -= least;
      if (each.load.steps_left == 0) {
        ends[each.index] = now;
        free_pages += each.load.pages;
      }
    }
    std::erase_if(active, [](const Active& each) { return each.load.steps_left == 0; });
    admit();
  }
  return ends;
}

}  // namespace continuo::engine
