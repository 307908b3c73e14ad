// Which pieces take part in the next step. Pure bookkeeping on numbers it is told: no clock, no threads, no model.
//
// Policy:
// - A step has room for `max_rows` rows; rows are counted, not requests. Everybody takes part while there is room.
// - Real-time streams come first, the one whose listener is nearest to running dry before the others. While one of them is close
// to
//   it, normal pieces stay out of the step, but for every `rescue_period`-th: nobody starves.
// - Normal pieces share what is left in time slices of `slice_steps`: the least served first, in order of arrival. A newcomer
//   starts level with the least served, so a short request gets its first slice at once, and a long one cannot be overtaken for
//   ever. A piece too wide for what is left is passed over, but goes first in the next turn.
// - Waiting requests are admitted in order of arrival. A smaller one may pass a larger that does not fit yet, at most
//   `most_overtakings` times; then nobody passes it.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <span>
#include <vector>

#include "engine/durations.h"

namespace continuo::engine {

enum class Service { normal, realtime };

using JobId = std::uint64_t;

inline constexpr int slice_steps = 25;       // half a second of music
inline constexpr int rescue_period = 8;      // steps
inline constexpr double close_to_dry = 0.5;  // seconds
inline constexpr int most_overtakings = 8;

class Scheduler {
 public:
  explicit Scheduler(int max_rows) : max_rows_(max_rows) {}

  /// A piece that may take part from now on.
  void add(JobId id, Service service);
  void remove(JobId id);
  /// Real-time to normal: a stream that could not be guaranteed.
  void demote(JobId id);

  /// What a piece would do in the next step.
  struct Candidate {
    JobId id;
    int rows;
    /// Seconds until its listener has heard all there is; infinite before the first sound, and for normal pieces.
    double dry_in = std::numeric_limits<double>::infinity();
  };
  /// The pieces of the next step, of those that are ready, and counts them as served. Never empty if one of them fits at all.
  std::vector<JobId> pick(std::span<const Candidate> ready);

  int max_rows() const { return max_rows_; }

 private:
  struct Entry {
    Service service = Service::normal;
    std::int64_t arrival = 0;
    std::int64_t served = 0;  // steps
    bool passed_over = false;
  };
  std::int64_t least_served() const;

  int max_rows_;
  std::int64_t arrivals_ = 0;
  std::int64_t steps_ = 0;
  std::map<JobId, Entry> entries_;
};

/// Who of the waiting may start, given what is free.
class Admission {
 public:
  /// pages: all that the request will ever hold.
  void wait(JobId id, int pages);
  void remove(JobId id);
  /// The next that fits into `free_pages`, taken off the line; nullptr-like: 0 if there is none.
  JobId admit(int free_pages);

  /// Place in line, 0 for the next; -1 if not waiting.
  int place(JobId id) const;
  std::size_t size() const { return line_.size(); }
  struct Waiting {
    JobId id;
    int pages;
    int overtaken = 0;
  };
  std::span<const Waiting> line() const { return line_; }
  /// Counts what changes the line.
  std::int64_t moves() const { return moves_; }

 private:
  std::vector<Waiting> line_;
  std::int64_t moves_ = 0;
};

/// How long a step takes, learned from steps: a + b x rows, fitted with weights that fade, so that it follows the machine; and
/// what the codec adds for each frame.
class StepTimes {
 public:
  void step(int rows, double seconds);
  void codec(int frames, double seconds);
  bool known() const { return weight_ > 0.0; }
  int samples() const { return samples_; }
  /// Seconds that a step of `rows` rows takes, with the codec's share for `frames` frames.
  double predict(int rows, int frames) const;

  // Everything since the start, for those who watch.
  const Durations& steps() const { return steps_; }
  const Durations& codec_passes() const { return codec_passes_; }
  std::int64_t frames() const { return frames_; }
  int last_rows() const { return last_rows_; }

 private:
  Durations steps_, codec_passes_;
  std::int64_t frames_ = 0;
  int last_rows_ = 0;
  double weight_ = 0.0, rows_ = 0.0, rows_squared_ = 0.0, seconds_ = 0.0, rows_seconds_ = 0.0;
  double codec_frames_ = 0.0, codec_seconds_ = 0.0;
  int samples_ = 0;
};

/// The share of a frame's duration that guaranteed streams may use.
inline constexpr double realtime_share = 0.85;

/// One that runs, as an estimate sees it.
struct Load {
  JobId id = 0;
  int rows = 0;
  int steps_left = 0;
  int pages = 0;
};

/// Seconds until each of the running and then the waiting (in line) has ended, in this order: everybody steps together, who ends
/// makes room. Exact as long as the step times are, since the lengths of all pieces are known.
std::vector<double> finish_times(std::span<const Load> running, std::span<const Load> waiting, int free_pages, int max_rows,
                                 const StepTimes& times);

}  // namespace continuo::engine
