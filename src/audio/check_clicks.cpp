// A click is a place where the samples before and after do not belong together. Linear prediction says how well a sample follows
// from those before it, given the spectrum around: the error of a step or of a single wrong sample is one pulse, while that of an
// attack, of noise or of a bright tone stays up or comes back with every period. (Vaseghi, "Advanced Digital Signal Processing
// and Noise Reduction", chapter on impulsive noise, for the idea; the tests against the surroundings are ours.)
#include <algorithm>
#include <array>
#include <cmath>

#include "audio/check_parts.h"
#include "audio/fourier.h"

namespace continuo::audio {

namespace {

constexpr std::size_t order = 32;
constexpr double block_ms = 32.0;
constexpr double floor_of_noise =
    1e-9;  // of a block's energy, added to its spectrum: -90 dB, so that pure tones stay predictable

constexpr double near_ms = 6.0;       // the prediction error just before and after a click must be small ...
constexpr double far_ms = 60.0;       // ... and no pulse like it may be found on both sides within this
constexpr double above_near = 4.0;    // times the largest error nearby
constexpr double above_far = 2.0;     // pulses within this factor are alike
constexpr double least_pulse = 2e-3;  // -54 dB
constexpr double least_share = 0.04;  // of the loudest sample nearby: smaller steps are masked by the sound itself
// Sound that begins may begin with an edge: it is an attack unless the edge is most of what follows.
constexpr double rising = 4.0;  // energy after / before
constexpr double edge_of_attack = 0.4;
constexpr double edge_ms = 5.0;  // the file's own beginning and end are nobody's join

using Coefficients = std::array<double, order + 1>;  // 1, -a1, -a2 ...

/// Levinson's recursion on the autocorrelation of a windowed block.
Coefficients predictor_of(std::span<const double> block) {
  std::array<double, order + 1> r{};
  for (std::size_t lag = 0; lag <= order; ++lag) {
    for (std::size_t i = lag; i < block.size(); ++i) r[lag] += block[i] * block[i - lag];
  }
  Coefficients a{};
  a[0] = 1.0;
  r[0] += r[0] * floor_of_noise + 1e-12;
  double error = r[0];
  for (std::size_t m = 1; m <= order; ++m) {
    double sum = r[m];
    for (std::size_t i = 1; i < m; ++i) sum += a[i] * r[m - i];
    const double reflection = -sum / error;
    Coefficients next = a;
    for (std::size_t i = 1; i < m; ++i) next[i] = a[i] + reflection * a[m - i];
    next[m] = reflection;
    a = next;
    error *= 1.0 - reflection * reflection;
    if (error <= 0.0) break;
  }
  return a;
}

/// |sample - its prediction|, each block's middle half by the block's own predictor.
std::vector<float> prediction_errors(const CheckedChannel& channel) {
  const auto& samples = channel.samples;
  const std::size_t size = 4 * (channel.milliseconds(block_ms) / 4), hop = size / 2;
  const std::vector<double> window = hann_window(size);
  std::vector<float> errors(samples.size());
  std::vector<double> block(size);
  const auto at = [&](std::ptrdiff_t i) {
    return i >= 0 && i < static_cast<std::ptrdiff_t>(samples.size()) ? static_cast<double>(samples[static_cast<std::size_t>(i)])
                                                                     : 0.0;
  };
  for (std::size_t first = 0; first < samples.size(); first += hop) {
    const auto start = static_cast<std::ptrdiff_t>(first) - static_cast<std::ptrdiff_t>(size / 4);
    for (std::size_t i = 0; i < size; ++i) block[i] = window[i] * at(start + static_cast<std::ptrdiff_t>(i));
    const Coefficients a = predictor_of(block);
    for (std::size_t n = first; n < std::min(first + hop, samples.size()); ++n) {
      double error = 0.0;
      for (std::size_t k = 0; k <= order; ++k)
        error += a[k] * at(static_cast<std::ptrdiff_t>(n) - static_cast<std::ptrdiff_t>(k));
      errors[n] = static_cast<float>(std::abs(error));
    }
  }
  return errors;
}

/// A part of a channel that may reach beyond its ends.
template <class T>
std::span<const T> part(std::span<const T> all, std::ptrdiff_t from, std::ptrdiff_t to) {
  const auto size = static_cast<std::ptrdiff_t>(all.size());
  from = std::clamp<std::ptrdiff_t>(from, 0, size);
  to = std::clamp<std::ptrdiff_t>(to, from, size);
  return all.subspan(static_cast<std::size_t>(from), static_cast<std::size_t>(to - from));
}

double largest(std::span<const float> values) {
  float most = 0.0F;
  for (const float value : values) most = std::max(most, std::abs(value));
  return most;
}

double energy(std::span<const float> values) {
  double sum = 0.0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

class ClickSearch {
 public:
  explicit ClickSearch(const CheckedChannel& channel)
      : channel_(channel), errors_(prediction_errors(channel)), guard_(static_cast<std::ptrdiff_t>(order) + 4) {}

  std::vector<Fault> run() const {
    std::vector<Fault> faults;
    const std::size_t edge = channel_.milliseconds(edge_ms);
    for (std::size_t n = edge; n + edge < errors_.size(); ++n) {
      const double pulse = errors_[n];
      if (pulse < least_pulse || !is_peak(n) || channel_.near_mended(n, 2 * order)) continue;
      const double usual = around(n);
      if (pulse < above_near * usual || pulse < least_share * loudest_near(n)) continue;
      if (is_attack(n, pulse) || comes_back(n, pulse)) continue;
      Fault fault{FaultKind::click, channel_.seconds(n)};
      fault.severity = pulse / std::max(usual, 1e-6);
      fault.what = fmt::format("a jump of {:.2g} where the sound around explains {:.1g}", pulse, usual);
      faults.push_back(std::move(fault));
    }
    return faults;
  }

 private:
  std::span<const float> errors(std::ptrdiff_t from, std::ptrdiff_t to) const {
    return part(std::span<const float>(errors_), from, to);
  }

  bool is_peak(std::size_t n) const {
    const auto at = static_cast<std::ptrdiff_t>(n);
    return errors_[n] >= largest(errors(at - guard_, at + guard_ + 1)) && errors_[n] > errors_[n - 1];
  }

  /// The largest error close to n, but for the pulse's own length.
  double around(std::size_t n) const {
    const auto at = static_cast<std::ptrdiff_t>(n), near = static_cast<std::ptrdiff_t>(channel_.milliseconds(near_ms));
    return std::max(largest(errors(at - guard_ - near, at - guard_)), largest(errors(at + guard_, at + guard_ + near)));
  }

  double loudest_near(std::size_t n) const {
    const auto at = static_cast<std::ptrdiff_t>(n), near = static_cast<std::ptrdiff_t>(channel_.milliseconds(2 * near_ms));
    return largest(part(channel_.samples, at - near, at + near));
  }

  bool is_attack(std::size_t n, double pulse) const {
    const auto at = static_cast<std::ptrdiff_t>(n), near = static_cast<std::ptrdiff_t>(channel_.milliseconds(2 * near_ms));
    const auto before = part(channel_.samples, at - near, at - 2), after = part(channel_.samples, at + guard_, at + near);
    return energy(after) > rising * energy(before) && pulse < edge_of_attack * largest(after);
  }

  /// Edges of a deep tone, a crackling texture: pulses of the kind on both sides. What lies beyond the file's ends is not known.
  bool comes_back(std::size_t n, double pulse) const {
    const auto at = static_cast<std::ptrdiff_t>(n), far = static_cast<std::ptrdiff_t>(channel_.milliseconds(far_ms));
    const bool before = largest(errors(at - far, at - guard_)) * above_far > pulse;
    const bool after = largest(errors(at + guard_, at + far)) * above_far > pulse;
    const bool at_begin = at<far, at_end = at + far> static_cast<std::ptrdiff_t>(errors_.size());
    return (before || at_begin) && (after || at_end) && (before || after);
  }

  const CheckedChannel& channel_;
  std::vector<float> errors_;
  std::ptrdiff_t guard_;
};

}  // namespace

std::vector<Fault> find_clicks(const CheckedChannel& channel) {
  if (channel.samples.size() < 2 * channel.milliseconds(block_ms)) return {};
  return ClickSearch(channel).run();
}

}  // namespace continuo::audio
