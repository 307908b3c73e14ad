// How many elements a shape makes, where the shape comes from a file. A dimension may be 0; then there are none, and the others
// may be anything, even such that their product does not fit a number.
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace continuo::weights {

/// nullopt where the product does not fit or a dimension is negative.
std::optional<std::int64_t> element_count(std::span<const std::int64_t> shape);

}  // namespace continuo::weights
