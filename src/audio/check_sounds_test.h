// Sounds without a fault, for the tests of the checks. All at 32 kHz unless told otherwise, mono, repeatable.
#pragma once

#include <algorithm>
#include <cmath>
#include <numbers>
#include <random>
#include <vector>

#include "audio/wav.h"

namespace continuo::audio::sounds {

inline constexpr int rate = 32000;
using Samples = std::vector<float>;

inline std::size_t count(double seconds, int at_rate = rate) { return static_cast<std::size_t>(std::lround(seconds * at_rate)); }

/// shape(t, i) for t in seconds.
template <class Shape>
Samples made(double seconds, Shape&& shape, int at_rate = rate) {
  Samples out(count(seconds, at_rate));
  for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<float>(shape(static_cast<double>(i) / at_rate));
  return out;
}

inline double turn(double cycles) { return 2.0 * std::numbers::pi * cycles; }
inline double cycle(double t, double hertz) { return t * hertz - std::floor(t * hertz); }

inline Samples sine(double seconds, double hertz, double level = 0.5, int at_rate = rate) {
  return made(
      seconds, [&](double t) { return level * std::sin(turn(hertz * t)); }, at_rate);
}

inline Samples chord(double seconds) {
  return made(seconds, [](double t) {
    return 0.2 * (std::sin(turn(220.0 * t)) + std::sin(turn(277.18 * t + 0.3)) + std::sin(turn(329.63 * t + 0.7)));
  });
}

inline Samples sweep(double seconds, double from, double to) {
  const double k = std::log(to / from) / seconds;
  return made(seconds, [&](double t) { return 0.5 * std::sin(turn(from * (std::exp(k * t) - 1.0) / k)); });
}

inline Samples square(double seconds, double hertz) {
  return made(seconds, [&](double t) { return cycle(t, hertz) < 0.5 ? 0.4 : -0.4; });
}

inline Samples saw(double seconds, double hertz) {
  return made(seconds, [&](double t) { return 0.5 * (2.0 * cycle(t, hertz) - 1.0); });
}

inline Samples noise(double seconds, double level = 0.1, unsigned seed = 1) {
  std::mt19937 random(seed);
  std::normal_distribution<double> normal(0.0, level);
  return made(seconds, [&](double) { return normal(random); });
}

inline Samples vibrato(double seconds) {
  return made(seconds, [](double t) { return 0.4 * std::sin(turn(440.0 * t + 3.0 * std::sin(turn(5.5 * t)))); });
}

inline Samples tremolo(double seconds) {
  return made(seconds, [](double t) { return 0.4 * (0.6 + 0.4 * std::sin(turn(6.0 * t))) * std::sin(turn(523.25 * t)); });
}

/// Kick, snare and closed hat at 120 beats a minute; the kick and the hat begin without any ramp, as a drum machine's do.
inline Samples drums(double seconds) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal(0.0, 1.0);
  return made(seconds, [&](double t) {
    const double kick = std::fmod(t, 0.5), snare = std::fmod(t + 0.5, 1.0), hat = std::fmod(t, 0.125);
    const double hiss = normal(random);
    return 0.6 * std::exp(-kick / 0.08) * std::sin(turn(50.0 * kick + 6.0 * (1.0 - std::exp(-kick / 0.03)))) +
           0.15 * std::exp(-snare / 0.05) * hiss + 0.05 * std::exp(-hat / 0.01) * hiss;
  });
}

/// Plucked notes that are struck again four times a second, the same twice in a row; begins and ends within 2 ms, silence
/// between.
inline Samples staccato(double seconds) {
  return made(seconds, [](double t) {
    constexpr double notes[] = {220.0, 220.0, 261.63, 261.63, 329.63, 329.63, 196.0, 196.0};
    const double hertz = notes[static_cast<int>(t * 4.0) % 8], local = std::fmod(t, 0.25);
    const double gate = std::min({1.0, local / 0.002, std::max(0.0, (0.18 - local) / 0.01)});
    return 0.5 * gate * std::exp(-local / 0.2) * (std::sin(turn(hertz * local)) + 0.3 * std::sin(turn(3.0 * hertz * local)));
  });
}

/// Piano-like: each note rings on under the next.
inline Samples arpeggio(double seconds) {
  Samples out(count(seconds));
  constexpr double notes[] = {130.81, 164.81, 196.0, 261.63, 329.63, 261.63, 196.0, 164.81};
  for (int n = 0; n < static_cast<int>(seconds * 5.0); ++n) {
    const std::size_t begin = count(n / 5.0);
    for (std::size_t i = begin; i < out.size(); ++i) {
      const double t = static_cast<double>(i - begin) / rate;
      for (int h = 1; h <= 5; ++h) {
        out[i] += static_cast<float>(0.12 / h * std::min(1.0, t / 0.003) * std::exp(-t * (1.5 + h)) *
                                     std::sin(turn(h * notes[n % 8] * t)));
      }
    }
  }
  return out;
}

/// Wood blocks: a burst of 1.2 kHz that begins at once.
inline Samples blocks(double seconds) {
  return made(seconds, [](double t) {
    const double local = std::fmod(t, 0.3);
    return 0.7 * std::exp(-local / 0.02) * std::sin(turn(1200.0 * local));
  });
}

inline Samples chiptune(double seconds) {
  return made(seconds, [](double t) {
    constexpr double notes[] = {262.0, 330.0, 392.0, 523.0, 440.0, 349.0};
    const double bass = 65.4, lead = notes[static_cast<int>(t * 8.0) % 6];
    return 0.2 * (cycle(t, lead) < 0.25 ? 1.0 : -1.0 / 3.0) + 0.3 * (std::abs(4.0 * cycle(t, bass) - 2.0) - 1.0);
  });
}

inline Samples sum(Samples a, const Samples& b) {
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) a[i] += b[i];
  return a;
}

/// As the 16 bits of a file keep it.
inline Samples in_16_bits(Samples samples) {
  for (float& sample : samples) sample = std::clamp(std::nearbyint(sample * 32768.0F), -32768.0F, 32767.0F) / 32768.0F;
  return samples;
}

inline Sound mono(Samples samples, int at_rate = rate) { return {std::move(samples), 1, at_rate}; }

inline Sound stereo(const Samples& left, const Samples& right, int at_rate = rate) {
  Sound sound{{}, 2, at_rate};
  for (std::size_t i = 0; i < std::min(left.size(), right.size()); ++i) {
    sound.samples.push_back(left[i]);
    sound.samples.push_back(right[i]);
  }
  return sound;
}

}  // namespace continuo::audio::sounds
