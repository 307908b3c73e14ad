// A budget is for the whole process, whatever is asked of the engine. In a process of its own, whose peak is read back.
#include <gtest/gtest.h>

#include <cstdlib>
#include <random>

#include "base/memory.h"
#include "engine/memory_need.h"
#include "engine/test_support.h"

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define CONTINUO_OWN_MEMORY 0  // a sanitizer takes memory that nobody predicts
#else
#define CONTINUO_OWN_MEMORY 1
#endif

namespace continuo::engine {
namespace {

/// Requests of many kinds at once; exits with 0 if the process stayed within its budget.
[[noreturn]] void live_within(std::int64_t budget) {
  give_memory_back_early();
  EngineOptions options;
  options.threads = 2;
  options.memory = budget;
  auto engine = Engine::create(golden_source("tiny-a"), options);
  if (!engine) std::exit(2);
  std::mt19937_64 random(7);
  const auto below = [&](int n) { return std::uniform_int_distribution<int>(0, n - 1)(random); };
  int finished = 0, refused = 0;
  for (int round = 0; round < 3; ++round) {
    std::vector<std::shared_ptr<Job>> jobs;
    for (int i = 0; i < 24; ++i) {
      std::string prompt = "tune " + std::to_string(below(30));
      if (i % 6 == 0) {
        for (int word = 0; word < 400; ++word) prompt += " piano";
      }
      Request request = sampled(prompt, 0.2 + below(40) * 0.1, static_cast<std::uint64_t>(i));
      request.chunk_seconds = 0.02 * (1 + below(40));
      request.buffer_seconds = 0.5;
      if (i % 7 == 3) request.segments = {{prompt, 1.0}, {"drums", 2.0, Join::crossfaded}, {"flute", 1.0}};
      if (i % 8 == 5) request.service = Service::realtime;
      if (auto job = (*engine)->submit(request)) {
        jobs.push_back(std::move(*job));
      } else {
        refused += job.error().code == ErrorCode::out_of_memory ? 1 : 100;
      }
    }
    for (const auto& job : jobs) {
      while (const auto event = job->wait()) finished += std::holds_alternative<Finished>(*event) ? 1 : 0;
    }
  }
  const std::int64_t peak = peak_memory().value_or(0);
  std::fprintf(stderr, "peak %lld of %lld, %d finished, %d refused\n", static_cast<long long>(peak),
               static_cast<long long>(budget), finished, refused);
  std::exit(peak > 0 && peak <= budget && finished > 40 && finished + refused == 72 ? 0 : 1);
}

TEST(MemoryBudget, HoldsForEveryMix) {
#if CONTINUO_OWN_MEMORY
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  for (const std::int64_t megabytes : {64, 80, 120}) {
    EXPECT_EXIT(live_within(megabytes * 1'000'000), ::testing::ExitedWithCode(0), "") << megabytes;
  }
#else
  GTEST_SKIP() << "a sanitizer takes memory of its own";
#endif
}

TEST(MemoryBudget, RefusesPromptsThatItCannotRead) {
  EngineOptions options;
  options.memory = resident_memory().value_or(0) + (std::int64_t{80} << 20);
  const auto engine = Engine::create(golden_source("tiny-a"), options);
  ASSERT_TRUE(engine) << engine.error().message;
  std::string prompt;
  while (prompt.size() < 19'000) prompt += "piano drums ";
  const int tokens = static_cast<int>((*engine)->tokenize(prompt)->size());
  ASSERT_GT(text_pass_bytes((*engine)->config(), tokens), options.memory / 24);
  const auto refused = (*engine)->submit(sampled(prompt, 0.2));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, ErrorCode::out_of_memory);
  EXPECT_NE(refused.error().message.find(std::to_string(tokens)), std::string::npos) << refused.error().message;
  EXPECT_EQ((*engine)->fingerprint(prompt).error().code, ErrorCode::out_of_memory);
  EXPECT_TRUE((*engine)->fingerprint("piano"));
  EXPECT_EQ(told_by(**engine, sampled("piano", 0.2)).finished, 1);
}

}  // namespace
}  // namespace continuo::engine
