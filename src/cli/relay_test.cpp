#include "cli/relay.h"

#include <gtest/gtest.h>

#include <regex>

namespace continuo::cli {
namespace {

std::string error_of(std::string_view text) {
  const auto segments = relay_from_text(text, "f");
  return segments ? "" : segments.error().message;
}

TEST(Relay, LengthsJoinsAndPrompts) {
  const auto segments = relay_from_text(
      "\xEF\xBB\xBF# a day\r\n\r\n  15 soft piano\r\n2.5\tcontinue:  continue: strings # join in \n10 crossfade:drums\n1 \"\"",
      "f");
  ASSERT_TRUE(segments.has_value()) << segments.error().message;
  ASSERT_EQ(segments->size(), 4U);
  const std::vector<std::string> prompts{"soft piano", "continue: strings # join in", "drums", ""};
  const std::vector<double> seconds{15.0, 2.5, 10.0, 1.0};
  for (std::size_t i = 0; i < 4; ++i) {
    EXPECT_EQ((*segments)[i].prompt, prompts[i]);
    EXPECT_EQ((*segments)[i].seconds, seconds[i]);
    EXPECT_EQ((*segments)[i].join, i == 2 ? engine::Join::crossfaded : engine::Join::continued);
  }
  EXPECT_TRUE(has_crossfades(*segments));
  EXPECT_FALSE(has_crossfades(*relay_from_text("1 a\n1 b", "f")));
}

TEST(Relay, ErrorsNameTheLine) {
  const std::vector<std::pair<std::string, std::string>> wrong{
      {"", "holds no prompts"},
      {"# nothing\n\n", "holds no prompts"},
      {"5 a\n\npiano", "line 3: a line begins with its seconds.*'piano'"},
      {"5 a\n5s b", "line 2: .*'5s'"},
      {"-1 a", "line 1: .*'-1'"},
      {"1e2 a", "line 1: .*'1e2'"},
      {"0 a", "line 1: 0 seconds"},
      {"601 a", "line 1: .*600"},
      {"300 a\n300 b\n0.1 c", "line 3: 600.1 s so far"},
      {"5 a\n5", "line 2: its prompt is missing"},
      {"5 a\n5 crossfade: ", "line 2: its prompt is missing"},
      {"#\n5 crossfade: a", "line 2: the first prompt has nothing"},
      {"5 a\n5 caf\xE9", "line 2: not UTF-8"},
      {"5 " + std::string(engine::max_prompt_bytes + 1, 'x'), "line 1: the prompt has 20001 bytes"},
  };
  for (const auto& [text, says] : wrong) {
    EXPECT_TRUE(std::regex_search(error_of(text), std::regex(says))) << says << "\n" << error_of(text);
  }
  std::string many;
  for (std::size_t i = 0; i <= max_segments; ++i) many += "1 a\n";
  EXPECT_NE(error_of(many).find("line 257"), std::string::npos);
}

}  // namespace
}  // namespace continuo::cli
