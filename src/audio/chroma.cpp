#include "audio/chroma.h"

#include <algorithm>
#include <cmath>
#include <complex>

#include "audio/fourier.h"

namespace continuo::audio {

namespace {

constexpr double lowest_a = 27.5;      // Hz, the pitch 0
constexpr double centre_octave = 5.0;  // pitches count less the further they are from here ...
constexpr double octave_width = 2.0;   // ... with this deviation
constexpr std::size_t max_bank = std::size_t{1} << 25;

/// a mod n in [0, n)
double wrapped(double a, double n) { return a - n * std::floor(a / n); }

/// librosa's chroma filter bank, tuned to A = 440 Hz: how much each frequency belongs to each class. [n_fft / 2 + 1, bins]
std::vector<double> filter_bank(const ChromaOptions& options) {
  const auto frequencies = static_cast<std::size_t>(options.n_fft / 2 + 1), bins = static_cast<std::size_t>(options.bins);
  const double n = options.bins;
  const auto pitch = [&](std::size_t k) {  // in classes above the lowest A
    const double hertz = static_cast<double>(k) * options.sample_rate / options.n_fft;
    return n * std::log2(hertz / lowest_a);
  };
  std::vector<double> bank(frequencies * bins);
  for (std::size_t k = 0; k < frequencies; ++k) {
    const double own = k == 0 ? pitch(1) - 1.5 * n : pitch(k);
    const double width = std::max(pitch(k + 1) - own, 1.0);
    double* const row = bank.data() + k * bins;
    double square = 0.0;
    for (std::size_t c = 0; c < bins; ++c) {
      const double half = std::round(n / 2.0);
      const double distance = wrapped(own - static_cast<double>(c) + half, n) - half;
      // The bank counts from A; the classes from C, three twelfths of an octave above.
      double& weight = row[(c + bins - 3 * (bins / 12)) % bins];
      weight = std::exp(-2.0 * (distance / width) * (distance / width));
      square += weight * weight;
    }
    const double octaves = (own / n - centre_octave) / octave_width;
    const double scale = std::exp(-0.5 * octaves * octaves) / std::sqrt(square);
    for (std::size_t c = 0; c < bins; ++c) row[c] *= scale;
  }
  return bank;
}

/// At least n_fft samples, silence on both sides making up for what is missing; then half a window mirrored at both ends.
std::vector<double> padded(std::span<const float> audio, std::size_t n_fft) {
  std::vector<double> samples(audio.begin(), audio.end());
  if (samples.size() < n_fft) {
    const std::size_t missing = n_fft - samples.size();
    samples.insert(samples.begin(), missing / 2, 0.0);
    samples.resize(n_fft);
  }
  const std::size_t half = n_fft / 2, size = samples.size();
  std::vector<double> out(size + 2 * half);
  std::copy(samples.begin(), samples.end(), out.begin() + static_cast<std::ptrdiff_t>(half));
  for (std::size_t i = 0; i < half; ++i) {
    out[half - 1 - i] = samples[1 + i];
    out[half + size + i] = samples[size - 2 - i];
  }
  return out;
}

}  // namespace

Result<Chroma> chroma_of(std::span<const float> audio, const ChromaOptions& options) {
  const auto n_fft = static_cast<std::size_t>(options.n_fft), hop = static_cast<std::size_t>(options.hop);
  const auto bins = static_cast<std::size_t>(options.bins);
  if (bins * n_fft / 2 > max_bank) {
    return fail(ErrorCode::unsupported, "a chroma of {} classes from {} samples is too large", options.bins, options.n_fft);
  }
  CONTINUO_TRY(Transform transform, Transform::create(options.n_fft));
  audio = audio.first(
      std::min(audio.size(), static_cast<std::size_t>(max_melody_seconds) * static_cast<std::size_t>(options.sample_rate)));
  const std::vector<double> samples = padded(audio, n_fft);
  const std::vector<double> window = hann_window(n_fft), bank = filter_bank(options);
  double window_power = 0.0;
  for (const double value : window) window_power += value * value;

  const std::size_t frames = std::min(1 + (samples.size() - n_fft) / hop, static_cast<std::size_t>(options.most_frames));
  Chroma chroma{std::vector<float>(frames * bins), std::vector<int>(frames)};
  std::vector<double> windowed(n_fft), sums(bins);
  std::vector<std::complex<double>> spectrum(n_fft / 2 + 1);
  for (std::size_t t = 0; t < frames; ++t) {
    for (std::size_t i = 0; i < n_fft; ++i) windowed[i] = samples[t * hop + i] * window[i];
    transform(windowed, spectrum);
    std::fill(sums.begin(), sums.end(), 0.0);
    for (std::size_t k = 0; k < spectrum.size(); ++k) {
      const double power = std::norm(spectrum[k]) / window_power;
      for (std::size_t c = 0; c < bins; ++c) sums[c] += bank[k * bins + c] * power;
    }
    const auto loudest = std::max_element(sums.begin(), sums.end());
    const double scale = 1.0 / std::max(*loudest, 1e-6);
    chroma.classes[t] = static_cast<int>(loudest - sums.begin());
    for (std::size_t c = 0; c < bins; ++c) chroma.levels[t * bins + c] = static_cast<float>(sums[c] * scale);
  }
  return chroma;
}

}  // namespace continuo::audio
