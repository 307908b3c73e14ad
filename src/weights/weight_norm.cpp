#include "weights/weight_norm.h"

#include <cassert>
#include <cmath>

namespace continuo::weights {

void fold_weight_norm(std::span<float> v, std::span<const float> g) {
  assert(!g.empty() && v.size() % g.size() == 0);
  const std::size_t length = v.size() / g.size();
  for (std::size_t row = 0; row < g.size(); ++row) {
    const auto values = v.subspan(row * length, length);
    double squares = 0.0;
    for (const float value : values) squares += static_cast<double>(value) * value;
    const double factor = static_cast<double>(g[row]) / std::sqrt(squares);
    for (float& value : values) value = static_cast<float>(value * factor);
  }
}

}  // namespace continuo::weights
