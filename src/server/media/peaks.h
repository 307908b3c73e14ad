// The outline of a recording, for drawing a waveform: the lowest and the highest sample of each of so many bins.
//
// Kept per recording are those of blocks of 32 frames (a millisecond of sound), so that an outline of a job that is running costs
// reading what is new, and any number of bins is had from them. The bins share the blocks of the whole piece out evenly: they
// stay where they are while it grows.
#pragma once

#include <cstdint>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "server/media/recording.h"

namespace continuo::server {

struct Peaks {
  struct Line {
    std::vector<float> low, high;  // of the bins that are (or begin to be) there
  };
  int bins = 0;                // of the whole
  Line all;                    // over all channels
  std::vector<Line> channels;  // if asked for
  double seconds = 0.0;        // that are there
  double duration = 0.0;       // of the whole
  bool complete = false;
};

inline constexpr int max_peak_bins = 20'000;

/// Thread-safe; slow, so for the pool.
class PeakTable {
 public:
  /// Remembers so many recordings, the last used ones; ten minutes of stereo are 5 MB.
  explicit PeakTable(std::size_t most = 8) : most_(most) {}

  /// bins: at least 1; fewer come back from a piece of fewer blocks. take: the recording's identity, the same after a restart.
  Result<Peaks> of(const std::string& take, const std::shared_ptr<Recording>& recording, int bins, bool by_channel);

 private:
  struct Outline;
  std::shared_ptr<Outline> outline_of(const std::string& take, const Recording::Shape& shape);

  const std::size_t most_;
  std::mutex mutex_;
  std::list<std::shared_ptr<Outline>> outlines_;  // the last used first
};

/// {"bins", "min", "max", "channels": [{"min", "max"}], "seconds", "duration", "complete"}, four digits each.
std::string write_peaks(const Peaks& peaks);

}  // namespace continuo::server
