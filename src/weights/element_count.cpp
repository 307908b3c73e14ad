#include "weights/element_count.h"

#include <algorithm>
#include <limits>

namespace continuo::weights {

std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape) {
  if (std::any_of(shape.begin(), shape.end(), [](std::int64_t size) { return size < 0; })) return std::nullopt;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  std::int64_t product = 1;
  for (const std::int64_t size : shape) {
    if (product > std::numeric_limits<std::int64_t>::max() / size) return std::nullopt;
    product *= size;
  }
  return product;
}

}  // namespace continuo::weights
