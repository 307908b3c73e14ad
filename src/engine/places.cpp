// What the engine tells those who wait: places in line, and when a piece will be finished.
#include <algorithm>

#include "engine/local_engine.h"

namespace continuo::engine {

namespace {

constexpr std::size_t seen_waiting = 64;  // of the line, in the estimate for a running piece

}  // namespace

LocalEngine::Estimates LocalEngine::estimate(std::size_t most_waiting) const {
  std::vector<Load> running, waiting;
  Estimates estimates;
  const auto load_of = [&](const Work& work) {
    int steps = 0;
    for (std::size_t part = work.part; part < work.parts.size(); ++part) steps += work.parts[part].frames;
    if (work.piece != nullptr) steps += work.piece->steps_left() - work.parts[work.part].frames;
    return Load{work.shared->id, work.rows, std::max(steps, 1), work.pages};
  };
  for (const auto& [each, work] : works_) {
    if (running.size() == works_.size() - admission_.size()) break;
    if (!work->admitted) continue;
    estimates.ids.push_back(each);
    running.push_back(load_of(*work));
  }
  for (const Admission::Waiting& each : admission_.line().first(std::min(most_waiting, admission_.size()))) {
    estimates.ids.push_back(each.id);
    waiting.push_back(load_of(*works_.at(each.id)));
  }
  estimates.ends = finish_times(running, waiting, most_pages_ - pages_given_, scheduler_.max_rows(), times_);
  return estimates;
}

double LocalEngine::eta(JobId id) const {
  const Estimates estimates = estimate(seen_waiting);
  for (std::size_t i = 0; i < estimates.ids.size(); ++i) {
    if (estimates.ids[i] == id) return estimates.ends[i];
  }
  return 0.0;
}

void LocalEngine::tell_places() {
  // A long line is gone through only when it has moved, and once for all who stand in it.
  if (admission_.moves() != told_moves_) {
    told_moves_ = admission_.moves();
    const Estimates estimates = estimate(admission_.size());
    const std::size_t first = estimates.ids.size() - admission_.size();
    for (std::size_t i = 0; i < admission_.size(); ++i) {
      Work& work = *works_.at(estimates.ids[first + i]);
      const int place = static_cast<int>(i);
      if (place == work.told_place) continue;
      work.told_place = place;
      work.shared->outbox.put(Queued{place, estimates.ends[first + i]});
    }
  }
  const std::lock_guard lock(mutex_);
  snapshot_.waiting = static_cast<int>(admission_.size());
  snapshot_.running = static_cast<int>(works_.size() - admission_.size());
  snapshot_.pages = most_pages_;
  snapshot_.free_pages = pool_->free_pages();
  snapshot_.page_bytes = page_bytes_;
  snapshot_.conditioning_hits = conditioner_->hits();
  snapshot_.conditioning_misses = conditioner_->misses();
  snapshot_.conditioning_restored = conditioner_->restored();
  snapshot_.steps = steps_;
  snapshot_.step_seconds = times_.predict(2, 0);
  snapshot_.rows = snapshot_.running > 0 ? times_.last_rows() : 0;
  snapshot_.frames = times_.frames();
  snapshot_.step_times = times_.steps();
  snapshot_.codec_times = times_.codec_passes();
}

}  // namespace continuo::engine
