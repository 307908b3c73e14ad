// How long something took, how often: counts between fixed bounds, as systems that watch programs want them. Nothing is
// forgotten, so two looks tell what was between them.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace continuo::engine {

struct Durations {
  /// Seconds. What took exactly a bound counts below it.
  static constexpr std::array<double, 12> bounds{0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0};

  std::array<std::int64_t, bounds.size() + 1> counts{};  // the last: longer than all bounds
  double seconds = 0.0;                                  // in all

  void add(double took) {
    std::size_t at = 0;
    while (at < bounds.size() && took > bounds[at]) ++at;
    ++counts[at];
    seconds += took;
  }
};

}  // namespace continuo::engine
