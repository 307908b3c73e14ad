#include "weights/element_count.h"

#include <gtest/gtest.h>

#include <vector>

namespace continuo::weights {
namespace {

TEST(ElementCount, MultipliesAsFarAsNumbersGo) {
  const auto count = [](const std::vector<std::int64_t>& shape) { return element_count(shape); };
  constexpr std::int64_t huge = std::int64_t{1} << 62;
  EXPECT_EQ(count({}), 1);
  EXPECT_EQ(count({3, 5, 7}), 105);
  EXPECT_EQ(count({huge, 1}), huge);
  EXPECT_EQ(count({huge, 2}), std::nullopt);
  EXPECT_EQ(count({huge, 4}), std::nullopt);  // wraps to 0
  EXPECT_EQ(count({huge, 4, 0}), 0);
  EXPECT_EQ(count({0, huge, huge}), 0);
  EXPECT_EQ(count({-1, -1}), std::nullopt);
}

}  // namespace
}  // namespace continuo::weights
