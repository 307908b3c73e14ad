#include "server/loaded_models.h"

#include <gtest/gtest.h>
#include <numeric>

namespace continuo::server {
namespace {

TEST(DividedBudgetTest, EachHasItsWeightsAndAnEvenShareOfTheRest) {
  const auto shares = divided_budget(1000, {100, 300});
  EXPECT_EQ(shares, (std::vector<std::int64_t>{400, 600}));
  EXPECT_EQ(divided_budget(1000, {100}), (std::vector<std::int64_t>{1000}));
}

TEST(DividedBudgetTest, NoBudgetStaysNone) { EXPECT_EQ(divided_budget(0, {100, 300}), (std::vector<std::int64_t>{0, 0})); }

TEST(DividedBudgetTest, TooLittleIsNeverTakenForNone) {
  for (const std::int64_t share : divided_budget(10, {100, 300})) EXPECT_GT(share, 0);
}

TEST(LoadedModelsTest, AMissingFileIsNamed) {
  const auto models = LoadedModels::open({{"x", "/nowhere/x.gguf"}});
  ASSERT_FALSE(models);
  EXPECT_NE(models.error().message.find("/nowhere/x.gguf"), std::string::npos);
}

}  // namespace
}  // namespace continuo::server
