#include "cli/arguments.h"

#include <gtest/gtest.h>

#include "cli/generate_plan.h"

namespace continuo::cli {
namespace {

Result<Parsed> parse(const std::vector<std::string>& words) { return parse_arguments(generate_command(), words); }

Result<GeneratePlan> plan(const std::vector<std::string>& words) {
  CONTINUO_TRY(const Parsed parsed, parse(words));
  return plan_from(parsed.arguments);
}

TEST(Arguments, PromptsArriveAsTheyAre) {
  for (const char* prompt : {"", "plain", "[intro,outro]", "[]", "{}", "a,b", "bench", "--", "\"quoted\"", "%%", "a=b", "'"}) {
    const auto parsed = parse({"--", prompt});
    ASSERT_TRUE(parsed.has_value()) << prompt << ": " << parsed.error().message;
    EXPECT_EQ(parsed->arguments.positionals(), std::vector<std::string>{prompt});
  }
  EXPECT_EQ(parse({"[a,b]", "-d", "3", "live", "--json", ""})->arguments.positionals(),
            (std::vector<std::string>{"[a,b]", "live", ""}));
  EXPECT_EQ(parse({"--", "-d"})->arguments.positionals(), std::vector<std::string>{"-d"});
}

TEST(Arguments, ValuesMayLookLikeOptions) {
  EXPECT_EQ(parse({"x", "-d", "-5"})->arguments.value("duration"), "-5");
  EXPECT_EQ(parse({"x", "--top-k=-5"})->arguments.value("top-k"), "-5");
  EXPECT_EQ(parse({"x", "-o", "[a].wav"})->arguments.value("output"), "[a].wav");
}

TEST(Arguments, WrongUsage) {
  for (const std::vector<std::string>& words : std::vector<std::vector<std::string>>{
           {"x", "--nope"}, {"x", "-d"}, {"x", "-d", "1", "-d", "2"}, {"x", "-z"}, {"x", "--json=5"}, {"--duration"}}) {
    const auto parsed = parse(words);
    ASSERT_FALSE(parsed.has_value()) << words.back();
    EXPECT_EQ(parsed.error().code, ErrorCode::invalid_argument);
    EXPECT_EQ(parsed.error().message.find('\n'), std::string::npos);
  }
  EXPECT_EQ(parse_arguments(text_command(), std::vector<std::string>{"a", "b"}).error().code, ErrorCode::invalid_argument);
  EXPECT_EQ(parse_arguments(text_command(), std::vector<std::string>{}).error().code, ErrorCode::invalid_argument);
}

TEST(Arguments, WhatIsNotThereYetIsRefusedNotIgnored) {
  for (const char* option : {"--beams"}) {
    const auto parsed = parse({"x", option, "1"});
    ASSERT_FALSE(parsed.has_value()) << option;
    EXPECT_EQ(parsed.error().code, ErrorCode::unsupported);
    EXPECT_NE(parsed.error().message.find("not in this version"), std::string::npos) << parsed.error().message;
  }
  for (const Command& command : later_commands()) {
    const auto parsed = parse_arguments(command, std::vector<std::string>{"--any", "thing"});
    ASSERT_FALSE(parsed.has_value()) << command.name;
    EXPECT_EQ(parsed.error().code, ErrorCode::unsupported);
  }
}

TEST(Arguments, HelpNamesEveryOption) {
  for (const Command& command : {generate_command(), convert_command(), info_command(), models_command(), text_command(),
                                 codec_command(), bench_command()}) {
    const auto parsed = parse_arguments(command, std::vector<std::string>{"--help"});
    ASSERT_TRUE(parsed.has_value());
    for (const Option& option : command.options) EXPECT_NE(parsed->help.find(option.names), std::string::npos) << option.names;
  }
}

TEST(GeneratePlanTest, Defaults) {
  const auto made = plan({"a song"});
  ASSERT_TRUE(made.has_value());
  EXPECT_FALSE(made->batch);
  EXPECT_EQ(made->seconds, 10.0);
  EXPECT_EQ(made->outputs.size(), 1U);
  EXPECT_LT(made->seed, std::uint64_t{1} << 32);
  EXPECT_FALSE(made->temperature.has_value());
}

TEST(GeneratePlanTest, BatchesAreNumberedPromptByPrompt) {
  const auto made = plan({"a", "b", "--takes", "2", "-o", "x.wav", "--seed", "4"});
  ASSERT_TRUE(made.has_value());
  EXPECT_EQ(made->outputs, (std::vector<std::string>{"x-1.wav", "x-2.wav", "x-3.wav", "x-4.wav"}));
  weights::ModelConfig config;
  config.decoder.codebook_size = 64;
  const auto requests = requests_of(*made, config);
  ASSERT_EQ(requests.size(), 4U);
  EXPECT_EQ(requests[1].prompt, "a");
  EXPECT_EQ(requests[1].take, 2);
  EXPECT_EQ(requests[2].prompt, "b");
  EXPECT_EQ(requests[2].take, 1);
  EXPECT_EQ(requests[2].seed, 4U);
  EXPECT_EQ(requests[0].top_k, 64);  // the default gives way to a small model
}

TEST(GeneratePlanTest, TopKOfThePersonReplacesTopPOfTheModel) {
  weights::ModelConfig config;
  config.decoder.codebook_size = 2048;
  config.defaults.top_p = 0.9F;
  EXPECT_EQ(requests_of(*plan({"a", "--top-k", "5"}), config)[0].top_p, 0.0F);
  EXPECT_EQ(requests_of(*plan({"a"}), config)[0].top_p, 0.9F);
  EXPECT_EQ(requests_of(*plan({"a", "--top-k", "5", "--top-p", "0.5"}), config)[0].top_p, 0.5F);
}

TEST(GeneratePlanTest, Refusals) {
  const auto code = [](const std::vector<std::string>& words) { return plan(words).error().code; };
  EXPECT_EQ(code({}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "--prompts", "f"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "--takes", "0"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "b", "--takes", "256"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "--bits", "8"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "-o", "x.wma"}), ErrorCode::unsupported);
  EXPECT_EQ(code({"a", "-o", "x.wav", "--codes-out", "x.wav"}), ErrorCode::invalid_argument);
  EXPECT_EQ(code({"a", "--strategy", "beam"}), ErrorCode::unsupported);
  EXPECT_EQ(code({"a", "--strategy", "best"}), ErrorCode::invalid_argument);
}

}  // namespace
}  // namespace continuo::cli
