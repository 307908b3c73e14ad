// A sustained tone of frequency f turns its phase by 2 pi f t in the time t. For every spectral peak that goes on with the same
// frequency and level, the turn between two frames that do not overlap is compared with the one that its frequency predicts. A
// frame's frequencies come from the magnitudes alone, so a jump in phase between the two frames cannot hide in them; the frames
// that contain the jump are never used.
#include <algorithm>
#include <cmath>
#include <numbers>

#include "audio/check_parts.h"
#include "audio/fourier.h"

namespace continuo::audio {

namespace {

constexpr double frame_ms = 64.0;        // rounded up to a power of two of samples
constexpr std::size_t hops = 8;          // in a frame
constexpr std::size_t apart = hops + 2;  // between two frames that are compared: what lies between them, 16 ms, is in neither
constexpr double least_hertz = 60.0;     // below, two partials or a tone and its mirror image are not apart
constexpr double least_level = 1e-3;     // amplitude of a partial: -60 dB
constexpr double least_share = 0.05;     // of the loudest partial of the frame: weaker ones are disturbed by its skirts
constexpr double drift_bins = 0.08;      // a partial whose frequency moves more from frame to frame is not sustained
constexpr double steady = 1.3;           // nor is one whose level changes by more than this factor
constexpr double tonal_share = 0.3;      // of a frame's energy must be sustained partials for it to be judged
constexpr double jump_score = 0.75;      // below: 60 degrees, on average over the partials

struct Partial {
  double bin = 0.0;    // frequency in bins
  double level = 0.0;  // amplitude
  double phase = 0.0;  // in the middle of the frame
};

struct Frame {
  std::vector<Partial> partials;  // ascending
  double energy = 0.0;            // of the whole spectrum, in squares of a partial's level
};

class Frames {
 public:
  static Result<Frames> of(const CheckedChannel& channel, std::size_t size) {
    CONTINUO_TRY(Transform transform, Transform::create(static_cast<int>(size)));
    Frames all;
    const std::vector<double> window = hann_window(size);
    std::vector<double> block(size);
    std::vector<std::complex<double>> spectrum(size / 2 + 1);
    for (std::size_t at = 0; at + size <= channel.samples.size(); at += size / hops) {
      for (std::size_t i = 0; i < size; ++i) block[i] = window[i] * channel.samples[at + i];
      transform(block, spectrum);
      all.frames_.push_back(frame_of(spectrum, size, channel.sample_rate));
    }
    return all;
  }

  std::size_t size() const { return frames_.size(); }
  const Frame& operator[](std::size_t t) const { return frames_[t]; }

 private:
  static Frame frame_of(std::span<const std::complex<double>> spectrum, std::size_t size, int rate) {
    Frame frame;
    const double amplitude = 4.0 / static_cast<double>(size);  // a sine of amplitude 1 under Hann's window has a peak of size / 4
    std::vector<double> level(spectrum.size());
    for (std::size_t k = 0; k < spectrum.size(); ++k) {
      level[k] = std::abs(spectrum[k]) * amplitude;
      frame.energy += level[k] * level[k] / 1.5;  // the window spreads a tone over its neighbours: 1 + 2 / 4
    }
    const double loudest = *std::max_element(level.begin(), level.end());
    const auto first = std::max<std::size_t>(2, static_cast<std::size_t>(least_hertz * static_cast<double>(size) / rate));
    for (std::size_t k = first; k + 2 < level.size(); ++k) {
      if (level[k] < std::max(least_level, least_share * loudest)) continue;
      if (level[k] <= level[k - 1] || level[k] < level[k + 1]) continue;
      frame.partials.push_back(partial_at(spectrum, level, k));
    }
    return frame;
  }

  /// Hann's window has a known shape: the ratio of a peak's two largest values gives its place exactly.
  static Partial partial_at(std::span<const std::complex<double>> spectrum, std::span<const double> level, std::size_t k) {
    const bool right = level[k + 1] > level[k - 1];
    const double ratio = (right ? level[k + 1] : level[k - 1]) / level[k];
    const double offset = std::clamp((2.0 * ratio - 1.0) / (1.0 + ratio), 0.0, 0.5);
    const double d = right ? offset : -offset;
    // The main lobe, 1 at d = 0: sin(pi d) / (pi d (1 - d^2)).
    const double lobe = std::abs(d) < 1e-6 ? 1.0 : std::sin(std::numbers::pi * d) / (std::numbers::pi * d * (1.0 - d * d));
    // Counted from the frame's middle, where the phase is the same all over the main lobe.
    const double phase = std::arg(spectrum[k]) + (k % 2 == 0 ? 0.0 : std::numbers::pi);
    return {static_cast<double>(k) + d, level[k] / lobe, phase};
  }

  std::vector<Frame> frames_;
};

/// The same partial in another frame: nothing if its frequency or level moved.
const Partial* same_partial(const Frame& frame, const Partial& partial) {
  const auto next = std::lower_bound(frame.partials.begin(), frame.partials.end(), partial.bin - drift_bins,
                                     [](const Partial& p, double bin) { return p.bin < bin; });
  if (next == frame.partials.end() || next->bin > partial.bin + drift_bins) return nullptr;
  const double ratio = next->level / partial.level;
  return ratio < steady && ratio > 1.0 / steady ? &*next : nullptr;
}

struct Moment {
  double score = 1.0;
  bool tonal = false;
};

/// How the partials of frame t go on in frame t + apart. They must have been there half a frame earlier
/// and be there half a frame later, so that a tone that is struck again is not taken for one that is held.
Moment moment_at(const Frames& frames, std::size_t t) {
  Moment moment;
  const Frame &before = frames[t], &after = frames[t + apart];
  double sum = 0.0, weight = 0.0;
  for (const Partial& partial : before.partials) {
    const Partial* const next = same_partial(after, partial);
    if (next == nullptr || same_partial(frames[t - hops / 2], partial) == nullptr ||
        same_partial(frames[t + apart + hops / 2], *next) == nullptr) {
      continue;
    }
    const double turn = std::numbers::pi * (partial.bin + next->bin) * static_cast<double>(apart) / static_cast<double>(hops);
    const double power = partial.level * next->level;
    sum += power * 0.5 * (1.0 + std::cos(next->phase - partial.phase - turn));
    weight += power;
  }
  moment.tonal = weight > tonal_share * std::max(before.energy, after.energy);
  if (moment.tonal) moment.score = sum / weight;
  return moment;
}

}  // namespace

Result<PhaseFinding> check_phase(const CheckedChannel& channel) {
  std::size_t size = 64;
  while (static_cast<double>(size) < frame_ms * channel.sample_rate / 1000.0) size *= 2;
  CONTINUO_TRY(const Frames frames, Frames::of(channel, size));
  PhaseFinding finding;
  const std::size_t hop = size / hops;
  double sum = 0.0;
  std::size_t tonal = 0, jump_begin = 0, low = 0;
  PhaseContinuity continuity;
  Moment previous;
  for (std::size_t t = hops / 2; t + apart + hops / 2 < frames.size(); ++t) {
    const Moment moment = moment_at(frames, t);
    const std::size_t join = (t + hops) * hop + (apart - hops) * hop / 2;  // the middle between the two frames
    if (moment.tonal && previous.tonal) {  // one moment alone may be chance; a jump is seen from several
      const double both = std::max(moment.score, previous.score);
      sum += both;
      ++tonal;
      if (both < continuity.worst) {
        continuity.worst = both;
        continuity.worst_seconds = channel.seconds(join - hop / 2);
      }
    }
    if (moment.tonal && moment.score < jump_score) {
      if (low == 0) jump_begin = join;
      ++low;
    } else {
      low = 0;
    }
    if (low == 2) {
      Fault fault{FaultKind::phase_jump, channel.seconds(jump_begin)};
      fault.severity = 1.0 - moment.score;
      fault.what = fmt::format("sustained tones jump by about {:.0f} degrees",
                               std::acos(std::clamp(2.0 * moment.score - 1.0, -1.0, 1.0)) * 180.0 / std::numbers::pi);
      finding.faults.push_back(std::move(fault));
    }
    previous = moment;
  }
  if (tonal == 0) return finding;
  continuity.score = sum / static_cast<double>(tonal);
  continuity.tonal_seconds = channel.seconds(tonal * hop);
  finding.continuity = continuity;
  return finding;
}

}  // namespace continuo::audio
