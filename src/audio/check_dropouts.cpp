// Holes: the sound falls by 40 dB or more within about a millisecond, stays there for more than 5 ms, and is back as suddenly.
// Music stops slowly (a release, a room) or stays away longer than a lost buffer. Stuck: the same value for more than 5 ms,
// alone; a deep square wave does that all the time.
#include <algorithm>
#include <cmath>

#include "audio/check_parts.h"

namespace continuo::audio {

namespace {

constexpr double least_ms = 5.0;
constexpr double most_ms = 1000.0;
constexpr double side_ms = 20.0;      // what lies beside a hole is measured over this
constexpr double steep_ms = 1.5;      // within this beside the hole ...
constexpr double steep_share = 0.2;   // ... the sound must reach this share of its level
constexpr double hole_share = 0.01;   // -40 dB
constexpr double least_level = 3e-3;  // -50 dB: holes in what can hardly be heard
constexpr double alone_ms = 100.0;

double peak(std::span<const float> samples, std::size_t from, std::size_t to) {
  float most = 0.0F;
  for (std::size_t i = from; i < std::min(to, samples.size()); ++i) most = std::max(most, std::abs(samples[i]));
  return most;
}

std::string length_text(double seconds) { return fmt::format("{:.1f} ms", 1000.0 * seconds); }

class HoleSearch {
 public:
  explicit HoleSearch(const CheckedChannel& channel)
      : channel_(channel), side_(channel.milliseconds(side_ms)), steep_(channel.milliseconds(steep_ms)) {}

  std::vector<Fault> run() const {
    std::vector<Fault> faults;
    const auto& samples = channel_.samples;
    for (std::size_t n = side_; n + side_ < samples.size(); ++n) {
      // The cheap question first: does a fall of that size happen here at all?
      const double before = peak(samples, n - steep_, n);
      if (std::abs(samples[n]) > hole_share * before || before < least_level * steep_share) continue;
      const double level = peak(samples, n - side_, n);
      const double limit = hole_share * level;
      if (before < steep_share * level || level < least_level || std::abs(samples[n - 1]) <= limit) continue;
      std::size_t end = n;
      while (end < samples.size() && std::abs(samples[end]) <= limit) ++end;
      if (end - n <= channel_.milliseconds(least_ms)) {
        n = std::max(n, end - 1);
        continue;
      }
      if (is_hole(n, end, level) && !channel_.near_mended(n, end - n)) {
        const double deepest = peak(samples, n, end);
        Fault fault{FaultKind::dropout, channel_.seconds(n), channel_.seconds(end - n)};
        fault.severity = fault.length;
        fault.what =
            fmt::format("{} of {} in the middle of sound", length_text(fault.length),
                        deepest == 0.0 ? "nothing" : fmt::format("almost nothing ({:.0f} dB)", 20 * std::log10(deepest)));
        faults.push_back(std::move(fault));
      }
      n = end - 1;
    }
    return faults;
  }

 private:
  bool is_hole(std::size_t begin, std::size_t end, double level) const {
    if (end - begin > channel_.milliseconds(most_ms) || end + steep_ >= channel_.samples.size()) return false;
    const double after = peak(channel_.samples, end, end + side_);
    // What comes back a tenth as loud or ten times louder is another sound.
    return peak(channel_.samples, end, end + steep_) >= steep_share * after && after > 0.1 * level && after < 10.0 * level;
  }

  const CheckedChannel& channel_;
  std::size_t side_, steep_;
};

struct Run {
  std::size_t begin, end;
};

std::vector<Fault> find_stuck(const CheckedChannel& channel) {
  const auto& samples = channel.samples;
  const std::size_t least = channel.milliseconds(least_ms), alone = channel.milliseconds(alone_ms);
  std::vector<Run> runs;
  for (std::size_t i = 0, end = 0; i < samples.size(); i = end) {
    end = i + 1;
    while (end < samples.size() && samples[end] == samples[i]) ++end;
    const double value = std::abs(samples[i]);
    if (end - i > least && value >= least_level && value < 32767.0 / 32768.0 && !channel.near_mended(i, end - i))
      runs.push_back({i, end});
  }
  std::vector<Fault> faults;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    const auto [begin, end] = runs[r];
    const bool lonely = (r == 0 || runs[r - 1].end + alone < begin) && (r + 1 == runs.size() || end + alone < runs[r + 1].begin);
    if (!lonely || begin == 0 || end == samples.size() || end - begin > channel.milliseconds(most_ms)) continue;
    Fault fault{FaultKind::stuck, channel.seconds(begin), channel.seconds(end - begin)};
    fault.severity = fault.length;
    fault.what = fmt::format("every sample is {:.3f} for {}", samples[begin], length_text(fault.length));
    faults.push_back(std::move(fault));
  }
  return faults;
}

}  // namespace

std::vector<Fault> find_dropouts(const CheckedChannel& channel) {
  std::vector<Fault> faults = HoleSearch(channel).run();
  const std::vector<Fault> stuck = find_stuck(channel);
  faults.insert(faults.end(), stuck.begin(), stuck.end());
  return faults;
}

}  // namespace continuo::audio
