#include "cli/level.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

TEST(Level, IsSteadyFreeOrLeftToTheLength) {
  Arguments arguments;
  EXPECT_FALSE(read_level(arguments)->has_value());
  arguments.set("level", "steady");
  EXPECT_EQ(*read_level(arguments), true);
  arguments.set("level", "free");
  EXPECT_EQ(*read_level(arguments), false);
  arguments.set("level", "loud");
  EXPECT_EQ(read_level(arguments).error().code, ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace continuo::cli
