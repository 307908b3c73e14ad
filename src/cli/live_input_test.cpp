#include "cli/live_input.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

std::optional<std::string> prompt_of(std::string_view line) {
  const auto parsed = parse_live_line(line);
  const auto* change = parsed ? std::get_if<engine::Change>(&*parsed) : nullptr;
  return change != nullptr ? change->prompt : std::nullopt;
}

template <class T>
bool is(std::string_view line) {
  const auto parsed = parse_live_line(line);
  return parsed && std::holds_alternative<T>(*parsed);
}

TEST(LiveInput, ALineIsThePrompt) {
  EXPECT_EQ(prompt_of("soft piano"), "soft piano");
  EXPECT_EQ(prompt_of("  soft piano \r"), "soft piano");
  EXPECT_EQ(prompt_of("\"\""), "");
  EXPECT_EQ(prompt_of("//8 bit"), "/8 bit");
  EXPECT_EQ(prompt_of("轻快的钢琴曲"), "轻快的钢琴曲");
  EXPECT_TRUE(is<Nothing>(""));
  EXPECT_TRUE(is<Nothing>(" \t\r"));
}

TEST(LiveInput, Commands) {
  EXPECT_TRUE(is<Quit>("/quit"));
  EXPECT_TRUE(is<Help>(" /help "));
  const auto guidance = parse_live_line("/guidance 4.5");
  ASSERT_TRUE(guidance && std::holds_alternative<engine::Change>(*guidance));
  EXPECT_EQ(std::get<engine::Change>(*guidance).guidance, 4.5F);
  EXPECT_FALSE(std::get<engine::Change>(*guidance).prompt || std::get<engine::Change>(*guidance).temperature);
  const auto temperature = parse_live_line("/temperature\t0");
  ASSERT_TRUE(temperature && std::holds_alternative<engine::Change>(*temperature));
  EXPECT_EQ(std::get<engine::Change>(*temperature).temperature, 0.0F);
}

TEST(LiveInput, Refusals) {
  for (const char* line :
       {"/guidance", "/guidance x", "/guidance 101", "/temperature -1", "/guidance 4 5", "/quit now", "/stop", "/", "caf\xE9"}) {
    EXPECT_FALSE(parse_live_line(line).has_value()) << line;
  }
}

TEST(LiveInput, HelpNamesEveryCommand) {
  for (const char* command : {"/guidance", "/temperature", "/quit"}) EXPECT_NE(live_help().find(command), std::string::npos);
}

}  // namespace
}  // namespace continuo::cli
