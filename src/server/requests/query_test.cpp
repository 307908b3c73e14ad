#include "server/requests/query.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

namespace continuo::server {
namespace {

TEST(QueryObject, NumbersAndFlagsButNotInTexts) {
  const auto object = query_object(
      {{"a", "12"}, {"b", "-1.5"}, {"c", "true"}, {"d", ""}, {"e", "1e999"}, {"f", "12x"}, {"q", "12"}, {"g", "nan"}}, {"q"});
  EXPECT_EQ(object, nlohmann::json::parse(
                        R"({"a": 12, "b": -1.5, "c": true, "d": true, "e": "1e999", "f": "12x", "q": "12", "g": "nan"})"));
}

}  // namespace
}  // namespace continuo::server
