#include "server/log.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <nlohmann/json.hpp>
#include <sstream>
#include <thread>
#include <vector>

namespace continuo::server {
namespace {

using Form = Log::Form;
using Level = Log::Level;

/// A pipe in place of standard error.
class LogTest : public ::testing::Test {
 protected:
  void SetUp() override { ASSERT_EQ(::pipe(ends_.data()), 0); }
  void TearDown() override {
    for (const int end : ends_) {
      if (end >= 0) ::close(end);
    }
  }

  std::unique_ptr<Log> log(Form form, Level level = Level::info, bool prompts = false, std::size_t queue = 4096) {
    Log::Options options;
    options.level = level;
    options.form = form;
    options.prompts = prompts;
    options.descriptor = ends_[1];
    options.queue = queue;
    return Log::create(options);
  }
  /// What is in the pipe by now, or until it closes.
  std::string take(bool to_end = false) {
    if (to_end) ::close(std::exchange(ends_[1], -1));
    std::string text;
    std::array<char, 65536> part{};
    ::fcntl(ends_[0], F_SETFL, to_end ? 0 : O_NONBLOCK);
    for (ssize_t got = 0; (got = ::read(ends_[0], part.data(), part.size())) > 0;)
      text.append(part.data(), static_cast<std::size_t>(got));
    return text;
  }
  static std::vector<std::string> lines(const std::string& text) {
    std::vector<std::string> all;
    std::istringstream stream(text);
    for (std::string line; std::getline(stream, line);) all.push_back(line);
    return all;
  }
  std::vector<nlohmann::json> objects() {
    std::vector<nlohmann::json> all;
    for (const std::string& line : lines(take(true))) all.push_back(nlohmann::json::parse(line));
    return all;
  }

  std::array<int, 2> ends_{-1, -1};
};

TEST_F(LogTest, ALineIsAJsonObject) {
  log(Form::json)->warning("memory is short", {{"free", std::int64_t{12}}, {"share", 0.25}, {"last", true}, {"model", "demo"}});
  const auto all = objects();
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0]["level"], "warning");
  EXPECT_EQ(all[0]["message"], "memory is short");
  EXPECT_EQ(all[0]["free"], 12);
  EXPECT_EQ(all[0]["share"], 0.25);
  EXPECT_EQ(all[0]["last"], true);
  EXPECT_EQ(all[0]["model"], "demo");
  const std::string time = all[0]["time"];
  EXPECT_EQ(time.size(), 24U) << time;
  EXPECT_EQ(time.back(), 'Z');
  EXPECT_EQ(time[10], 'T');
}

TEST_F(LogTest, WhatAClientSentStaysOneHarmlessLine) {
  const std::string nasty = "a\nb\r\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE\xff\"\\ caf\xC3\xA9 \xE8\xBD\xBB";
  {
    const auto json = log(Form::json);
    json->info(nasty, {{nasty, nasty}, {"not a number", 0.0 / 0.0}});
  }
  std::string text = take();
  EXPECT_EQ(lines(text).size(), 1U);
  for (const char c : text.substr(0, text.size() - 1)) ASSERT_TRUE(c >= 0x20 && c < 0x7F) << static_cast<int>(c);
  const auto parsed = nlohmann::json::parse(text);
  EXPECT_EQ(parsed["message"], "a\nb\r\x1b[2J\x7f\xC2\x9B\xE2\x80\xAE\xEF\xBF\xBD\"\\ caf\xC3\xA9 \xE8\xBD\xBB");
  EXPECT_TRUE(parsed["not a number"].is_null());
  log(Form::text)->info(nasty, {{nasty, nasty}});
  text = take();
  EXPECT_EQ(lines(text).size(), 1U);
  for (const char c : text.substr(0, text.size() - 1)) ASSERT_TRUE(static_cast<unsigned char>(c) >= 0x20 && c != 0x7F);
  EXPECT_EQ(text.find("\xC2\x9B"), std::string::npos);
  EXPECT_EQ(text.find("\xE2\x80\xAE"), std::string::npos);
  EXPECT_NE(text.find("caf\xC3\xA9 \xE8\xBD\xBB"), std::string::npos) << text;
}

TEST_F(LogTest, SecretsAreHiddenAndPromptsOnlyWrittenWhenAsked) {
  const auto say = [](Log& to) {
    to.info("x", {{"Authorization", "Bearer abcdef"},
                  {"api_key", "abcdef"},
                  {"X-Api-Key", "abcdef"},
                  {"keys", 3},
                  {"prompt", "my song"},
                  {"title", "my song"},
                  {"client", "key:anna"}});
  };
  for (const Form form : {Form::json, Form::text}) {
    say(*log(form));
    const std::string text = take();
    EXPECT_EQ(text.find("abcdef"), std::string::npos) << text;
    EXPECT_EQ(text.find("my song"), std::string::npos) << text;
    EXPECT_NE(text.find("[hidden]"), std::string::npos) << text;
    EXPECT_NE(text.find("key:anna"), std::string::npos) << text;
    EXPECT_NE(text.find('3'), std::string::npos) << text;
    say(*log(form, Level::info, true));
    EXPECT_NE(take().find("my song"), std::string::npos);
  }
}

TEST_F(LogTest, LevelsAreKept) {
  for (const auto& [level, expected] :
       {std::pair{Level::debug, 4}, {Level::info, 3}, {Level::warning, 2}, {Level::error, 1}, {Level::off, 0}}) {
    {
      const auto made = log(Form::text, level);
      made->debug("a");
      made->info("b");
      made->warning("c");
      made->error("d");
      EXPECT_EQ(made->wants(Level::error), level != Level::off);
      EXPECT_FALSE(made->wants(Level::off));
    }
    EXPECT_EQ(lines(take()).size(), static_cast<std::size_t>(expected));
  }
}

TEST_F(LogTest, AccessLinesNameTheRouteAndHealthChecksAreQuiet) {
  const auto serve = [](Log& to) {
    to.access({"r1", "ip:127.0.0.1", "GET", "/v1/jobs/{id}", 404, 120, 0.0015, false});
    to.access({"r2", "ip:127.0.0.1", "GET", "/health", 200, 15, 0.0001, false});
    to.access({"r3", "ip:127.0.0.1", "GET", "/health", 503, 20, 0.0001, true});
  };
  serve(*log(Form::json));
  const auto all = objects();
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0]["message"], "request");
  EXPECT_EQ(all[0]["id"], "r1");
  EXPECT_EQ(all[0]["route"], "/v1/jobs/{id}");
  EXPECT_EQ(all[0]["status"], 404);
  EXPECT_EQ(all[0]["bytes"], 120);
  EXPECT_EQ(all[0]["seconds"], 0.0015);
  EXPECT_EQ(all[1]["id"], "r3");
  EXPECT_EQ(all[1]["cut"], true);
}

TEST_F(LogTest, ABlockedReaderNeverHoldsUpTheWriterAndHearsWhatItMissed) {
  auto made = log(Form::json, Level::info, false, 16);
  const std::string long_text(300, 'x');
  const auto start = std::chrono::steady_clock::now();
  for (int i = 0; i < 2000; ++i) made->info(long_text, {{"number", i}});
  const std::chrono::duration<double> took = std::chrono::steady_clock::now() - start;
  EXPECT_LT(took.count(), 5.0);  // 2000 waits of any length would not fit
  for (int i = 0; i < 500 && made->dropped() < 1700; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_GE(made->dropped(), 1700);
  EXPECT_LT(made->dropped(), 2000);
  std::string text = take();
  made->info("and on");
  made.reset();
  text += take(true);
  std::int64_t lost = 0, seen = 0;
  for (const std::string& line : lines(text)) {
    const auto parsed = nlohmann::json::parse(line);
    if (parsed["message"] == long_text) ++seen;
    if (parsed.contains("lost")) lost += parsed["lost"].get<std::int64_t>();
  }
  EXPECT_EQ(seen + lost, 2000);
  EXPECT_EQ(nlohmann::json::parse(lines(text).back())["message"], "and on");
}

TEST_F(LogTest, ALineThatWasTornOffEndsBeforeTheNext) {
  auto made = log(Form::json);
  made->info(std::string(100'000, 'y'));
  for (int i = 0; i < 500 && made->dropped() == 0; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(made->dropped(), 1);
  std::string text = take();
  made->info("whole");
  made.reset();
  text += take(true);
  const auto all = lines(text);
  ASSERT_EQ(all.size(), 3U);
  EXPECT_FALSE(nlohmann::json::accept(all[0]));
  EXPECT_EQ(nlohmann::json::parse(all[1])["lost"], 1);
  EXPECT_EQ(nlohmann::json::parse(all[2])["message"], "whole");
}

TEST_F(LogTest, AReaderThatLeftEndsNothing) {
  ::close(std::exchange(ends_[0], -1));
  auto made = log(Form::text);
  for (int i = 0; i < 100; ++i) made->info("nobody hears");
  for (int i = 0; i < 500 && made->dropped() < 100; ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  EXPECT_EQ(made->dropped(), 100);
}

TEST(LogOptions, AreCheckedWords) {
  EXPECT_EQ(*parse_log_level("warning"), Level::warning);
  EXPECT_EQ(*parse_log_level("off"), Level::off);
  EXPECT_FALSE(parse_log_level("WARN").has_value());
  EXPECT_EQ(*parse_log_format("json"), Form::json);
  EXPECT_EQ(*parse_log_format("auto"), std::nullopt);
  EXPECT_FALSE(parse_log_format("xml").has_value());
}

}  // namespace
}  // namespace continuo::server
