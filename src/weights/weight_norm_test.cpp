#include "weights/weight_norm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

namespace continuo::weights {
namespace {

TEST(WeightNorm, EqualsTheFormula) {
  // [2, 2, 2]: the norm runs over everything but dimension 0.
  std::vector<float> v = {1, 2, 2, 4, 0.5F, -0.5F, 0.5F, 0.5F};
  fold_weight_norm(v, std::vector<float>{10, -3});
  EXPECT_EQ(v, (std::vector<float>{2, 4, 4, 8, -1.5F, 1.5F, -1.5F, -1.5F}));  // norms 5 and 1
}

TEST(WeightNorm, DoesNotOverflowOnTheWay) {
  std::vector<float> v = {3e30F, 4e30F};
  fold_weight_norm(v, std::vector<float>{5});
  EXPECT_EQ(v, (std::vector<float>{3, 4}));
}

TEST(WeightNorm, LeavesZeroRowsUndefined) {
  std::vector<float> v = {0, 0};
  fold_weight_norm(v, std::vector<float>{1});
  EXPECT_TRUE(std::isnan(v[0]));
}

}  // namespace
}  // namespace continuo::weights
