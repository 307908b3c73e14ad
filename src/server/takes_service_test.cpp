// The index of prompts against its library: made, loaded, brought into line; and the schedule of retention.
#include "server/takes_service.h"

#include <atomic>
#include <thread>

#include "engine/engine.h"
#include "library/takes_test.h"
#include "server/http/fake_exchange_test.h"
#include "weights/tensor_source.h"

namespace continuo::server {
namespace {

using library::a_take;
using library::message_of;

/// Words in, numbers out: every letter pair has a direction, so that prompts with the same words are near each other.
Result<std::vector<float>> letters(const std::string& prompt) {
  std::vector<float> values(64, 0.1F);
  for (std::size_t i = 0; i + 1 < prompt.size(); ++i) {
    const auto pair = static_cast<unsigned char>(prompt[i]) * 31U + static_cast<unsigned char>(prompt[i + 1]);
    values[pair % values.size()] += 1.0F;
  }
  return values;
}

template <class Condition>
bool wait_until(const Condition& condition) {
  for (int i = 0; i < 20'000 && !condition(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  return condition();
}

class PromptsTest : public library::TakesTest {
 protected:
  Prompts::Options options(const std::string& encoder = "letters") const { return {folder / "index", encoder, 100, 0.0}; }
  std::unique_ptr<Prompts> started(const std::string& encoder = "letters") {
    asked = 0;
    auto prompts = std::make_unique<Prompts>(
        options(encoder),
        [this](const std::string& prompt) {
          ++asked;
          return letters(prompt);
        },
        *takes, pool);
    prompts->start();
    EXPECT_TRUE(wait_until([&] { return prompts->ready(); })) << prompts->warning();
    return prompts;
  }
  std::vector<Prompts::Similar> similar(Prompts& prompts, const std::string& prompt, float threshold = 0.6F,
                                        std::size_t limit = 5) {
    std::vector<Prompts::Similar> found;
    boost::asio::io_context io(1);
    const auto body = [&]() -> Task<void> {
      const auto result = co_await prompts.similar(prompt, threshold, limit);
      EXPECT_TRUE(result) << message_of(result);
      if (result) found = *result;
    };
    test::run_to_end(io, body());
    return found;
  }

  std::atomic<int> asked = 0;
  Pool pool{2};
};

TEST_F(PromptsTest, FindsTheTakesOfSimilarPrompts) {
  add(a_take("a", "soft piano in the rain", 1));
  add(a_take("b", "hard rock with loud drums", 2));
  add(a_take("c", "soft piano in the rain", 3));
  const auto prompts = started();
  EXPECT_EQ(prompts->size(), 2U);
  const auto found = similar(*prompts, "soft piano in the rains");
  ASSERT_EQ(found.size(), 1U);
  EXPECT_EQ(found[0].prompt, "soft piano in the rain");
  EXPECT_GT(found[0].similarity, 0.6F);
  EXPECT_EQ(found[0].takes, (std::vector<std::string>{"c", "a"}));
  EXPECT_EQ(similar(*prompts, "soft piano in the rain", -1.0F).size(), 2U);
  EXPECT_EQ(similar(*prompts, "soft piano in the rain", -1.0F, 1).size(), 1U);
}

TEST_F(PromptsTest, FollowsTheLibrary) {
  const auto prompts = started();
  add(a_take("a", "soft piano in the rain"));
  prompts->add("soft piano in the rain");
  ASSERT_TRUE(wait_until([&] { return prompts->size() == 1; }));
  ASSERT_TRUE(takes->trash("a", 1.0));
  EXPECT_EQ(similar(*prompts, "soft piano in the rain").size(), 0U);  // in the trash
  ASSERT_TRUE(takes->restore("a"));
  EXPECT_EQ(similar(*prompts, "soft piano in the rain").size(), 1U);
  prompts->forget("soft piano in the rain");  // but there is a take of it
  prompts->add("");
  add(a_take("b", "drums"));
  prompts->add("drums");
  ASSERT_TRUE(wait_until([&] { return prompts->size() == 2; }));
  ASSERT_TRUE(takes->remove("a"));
  prompts->forget("soft piano in the rain");
  ASSERT_TRUE(wait_until([&] { return prompts->size() == 1; }));
}

TEST_F(PromptsTest, AStartWithAFileAsksForNothing) {
  add(a_take("a", "soft piano"));
  started();
  EXPECT_GT(asked, 200);  // the reference prompts
  const auto again = started();
  EXPECT_EQ(asked, 0);
  EXPECT_EQ(again->size(), 1U);
  EXPECT_EQ(again->warning(), "");
}

TEST_F(PromptsTest, AStartBringsTheFileIntoLine) {
  add(a_take("a", "soft piano", 1));
  add(a_take("b", "loud drums", 2));
  started();
  // As after a crash: the library has changed, the file has not.
  ASSERT_TRUE(takes->remove("a"));
  add(a_take("c", "a slow cello", 3));
  const auto again = started();
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(again->size(), 2U);
  EXPECT_EQ(similar(*again, "soft piano", -1.0F).size(), 2U);
  EXPECT_EQ(similar(*again, "a slow cello").front().takes.front(), "c");
}

TEST_F(PromptsTest, ADroppedFileIsMadeAgainFromTheLibrary) {
  add(a_take("a", "soft piano"));
  started();
  std::ofstream(folder / "index/prompts.index") << "damaged";
  const auto again = started();
  EXPECT_NE(again->warning().find("starts anew"), std::string::npos) << again->warning();
  EXPECT_EQ(again->size(), 1U);
  const int references = asked;
  EXPECT_EQ(similar(*again, "soft piano").size(), 1U);
  EXPECT_EQ(asked, references + 1);  // that of "soft piano" itself was remembered in the library

  // Another encoder shares nothing with it.
  const auto other = started("another");
  EXPECT_EQ(other->size(), 1U);
  EXPECT_EQ(asked, references + 1);
}

TEST_F(PromptsTest, WhatComesWhileItIsMadeIsNotForgotten) {
  std::atomic<bool> go = false;
  Prompts prompts(
      options(),
      [&](const std::string& prompt) {
        while (!go) std::this_thread::yield();
        return letters(prompt);
      },
      *takes, pool);
  prompts.start();
  EXPECT_FALSE(prompts.ready());
  boost::asio::io_context io(1);
  const auto body = [&]() -> Task<void> {
    const auto result = co_await prompts.similar("x");
    EXPECT_FALSE(result);
  };
  test::run_to_end(io, body());
  add(a_take("a", "soft piano"));
  prompts.add("soft piano");
  go = true;
  ASSERT_TRUE(wait_until([&] { return prompts.ready(); }));
  EXPECT_EQ(prompts.size(), 1U);
}

TEST_F(PromptsTest, AnEncoderThatFailsIsSaid) {
  Prompts prompts(
      options(), [](const std::string&) { return Result<std::vector<float>>(fail(ErrorCode::unsupported, "planted")); }, *takes,
      pool);
  prompts.start();
  ASSERT_TRUE(wait_until([&] { return !prompts.warning().empty(); }));
  EXPECT_NE(prompts.warning().find("planted"), std::string::npos);
  EXPECT_FALSE(prompts.ready());
}

TEST_F(PromptsTest, EndsInTheMiddleOfTheWork) {
  std::atomic<bool> ended = false;
  {
    Prompts prompts(
        options(),
        [&](const std::string& prompt) {
          EXPECT_FALSE(ended);
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          return letters(prompt);
        },
        *takes, pool);
    prompts.start();
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  ended = true;
  std::this_thread::sleep_for(std::chrono::milliseconds(10));
}

TEST_F(PromptsTest, WithARealEncoder) {
  auto source = weights::open_model(std::string(CONTINUO_SOURCE_DIR) + "/models/demo.gguf");
  ASSERT_TRUE(source) << message_of(source);
  auto engine = engine::Engine::create(std::move(*source), {.threads = 1});
  ASSERT_TRUE(engine) << message_of(engine);
  add(a_take("a", "calm piano melody", 1));
  add(a_take("b", "fast techno beat with heavy bass", 2));
  Prompts prompts(
      options("demo"), [&](const std::string& prompt) { return (*engine)->fingerprint(prompt); }, *takes, pool);
  prompts.start();
  ASSERT_TRUE(wait_until([&] { return prompts.ready(); })) << prompts.warning();
  const auto found = similar(prompts, "calm piano melody", -1.0F);
  ASSERT_EQ(found.size(), 2U);
  EXPECT_EQ(found[0].takes.front(), "a");
  EXPECT_GT(found[0].similarity, 0.99F);
}

TEST_F(PromptsTest, RetentionRunsOnlyWhenItsScheduleIsOn) {
  library::Retention retention(database);
  add(a_take("old", "p", 1000.0));
  std::vector<std::string> removed;
  boost::asio::io_context io(1);
  Wake stop(io.get_executor());
  const auto told = [&](const Result<std::vector<library::RemovedTake>>& gone) {
    ASSERT_TRUE(gone) << message_of(gone);
    for (const auto& take : *gone) removed.push_back(take.id);
    stop.set();
  };
  const auto run_for = [&](std::chrono::milliseconds most) {
    boost::asio::steady_timer timer(io, most);
    timer.async_wait([&](const boost::system::error_code&) { stop.set(); });
    test::run_to_end(io, keep_retention(retention, pool, stop, told, std::chrono::milliseconds(1), std::chrono::milliseconds(1)));
  };
  library::RetentionRules rules;
  rules.days = 1.0;
  ASSERT_TRUE(retention.set_rules(rules));
  run_for(std::chrono::milliseconds(50));
  EXPECT_TRUE(removed.empty());
  EXPECT_EQ("old", found({}));
  rules.schedule = true;
  ASSERT_TRUE(retention.set_rules(rules));
  run_for(std::chrono::milliseconds(500));
  EXPECT_EQ(removed, (std::vector<std::string>{"old"}));
  EXPECT_EQ("", found({}));
}

}  // namespace
}  // namespace continuo::server
