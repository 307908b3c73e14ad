#include "cli/prompts.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

using Prompts = std::vector<std::string>;

TEST(Prompts, OneALine) {
  EXPECT_EQ(prompts_from_text("a\nb c\n", "f", 10).value(), (Prompts{"a", "b c"}));
  EXPECT_EQ(prompts_from_text("a\r\n\r\n  \t\nb", "f", 10).value(), (Prompts{"a", "b"}));
  EXPECT_EQ(prompts_from_text("\xEF\xBB\xBFpiano\n", "f", 10).value(), (Prompts{"piano"}));
  EXPECT_EQ(prompts_from_text(" keeps its spaces ", "f", 10).value(), (Prompts{" keeps its spaces "}));
}

TEST(Prompts, RefusesWhatCannotBePrompts) {
  EXPECT_FALSE(prompts_from_text("", "f", 10).has_value());
  EXPECT_FALSE(prompts_from_text("\n\r\n", "f", 10).has_value());
  const auto bad = prompts_from_text("fine\nb\xFFX\n", "f", 10);
  ASSERT_FALSE(bad.has_value());
  EXPECT_NE(bad.error().message.find("line 2"), std::string::npos);
  EXPECT_FALSE(prompts_from_text("a\nb\nc\n", "f", 2).has_value());
  EXPECT_FALSE(read_prompts("/no/such/file", 10).has_value());
  EXPECT_TRUE(check_prompt("").has_value());
  EXPECT_FALSE(check_prompt("\xC0\xAF").has_value());
}

}  // namespace
}  // namespace continuo::cli
