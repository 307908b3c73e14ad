// The tunes of the goldens' "chroma" lists, which are a formula (tests/reference/chroma_cases.py).
#pragma once

#include <cmath>
#include <nlohmann/json.hpp>
#include <numbers>
#include <vector>

#include "audio/wav.h"

namespace continuo::audio::testing {

/// One of those lists' objects, at its own rate.
inline Sound play(const nlohmann::json& golden) {
  const auto channels = golden["notes"].size();
  const auto samples = golden["samples"].get<std::size_t>();
  const int rate = golden["sampling_rate"];
  std::vector<double> audio(samples * channels);
  for (std::size_t c = 0; c < channels; ++c) {
    for (const nlohmann::json& note : golden["notes"][c]) {
      const auto start = note["start"].get<std::size_t>(), length = note["samples"].get<std::size_t>();
      const double amplitude = note["amplitude"], hertz = note["hz"];
      for (std::size_t n = 0; n < length; ++n) {
        const auto at = static_cast<double>(n);
        audio[(start + n) * channels + c] += amplitude * std::sin(std::numbers::pi * (at + 0.5) / static_cast<double>(length)) *
                                             std::sin(2.0 * std::numbers::pi * hertz * at / rate);
      }
    }
  }
  return {{audio.begin(), audio.end()}, static_cast<int>(channels), rate};
}

}  // namespace continuo::audio::testing
