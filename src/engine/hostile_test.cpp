// What callers do to an engine that they should not, or that nobody thought of.
#include <gtest/gtest.h>

#include <atomic>
#include <future>

#include "engine/piece.h"
#include "engine/test_support.h"

namespace continuo::engine {
namespace {

Request endless(const std::string& prompt) {
  Request request = sampled(prompt, 10.0);
  request.endless = true;
  return request;
}

TEST(Hostile, JobsOutliveTheEngine) {
  auto engine = golden_engine("tiny-a", 2);
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(submitted(*engine, endless("soft piano")));
  jobs.push_back(submitted(*engine, sampled("loud drums", 0.1)));
  ASSERT_TRUE(eventually([&] { return jobs.back()->state() == JobState::ended && jobs[0]->state() == JobState::paused; }));
  for (int i = 0; i < 30; ++i) jobs.push_back(submitted(*engine, sampled("soft piano", 1.0)));
  engine.reset();
  const auto last = jobs[3];
  for (const auto& job : jobs) {
    EXPECT_EQ(JobState::ended, job->state());
    EXPECT_FALSE(job->change({.prompt = "loud drums", .guidance = {}, .temperature = {}}));
    job->cancel();
    all_of(*job);  // sound that waits can still be taken; then the one end
  }
  jobs.clear();
}

TEST(Hostile, AnEngineThatClosesAtOnceEndsWhatItWasGiven) {
  for (int round = 0; round < 20; ++round) {
    auto engine = golden_engine("tiny-a", 1);
    std::vector<std::shared_ptr<Job>> jobs;
    for (int i = 0; i < round; ++i) jobs.push_back(submitted(*engine, sampled("soft piano", 2.0)));
    engine.reset();
    for (const auto& job : jobs) EXPECT_EQ(ErrorCode::cancelled, all_of(*job).error.code);
  }
}

TEST(Hostile, NotificationsMaySubmitPollCancelAndLetGo) {
  std::shared_ptr<Job> first, second, third;
  std::atomic<bool> refused{false};
  std::promise<void> ready, submitted_second;
  const auto engine = golden_engine("tiny-a", 2);
  auto is_ready = ready.get_future().share();
  bool once = false;
  first = submitted(*engine, sampled("soft piano", 0.4), [&] {
    is_ready.wait();
    if (std::exchange(once, true)) return;
    const Request request = sampled("", 0.1);
    refused = !engine->generate(std::span(&request, 1), {}, {});
    second = submitted(*engine, sampled("loud drums", 0.2));
    third->cancel();
    third.reset();
    submitted_second.set_value();
  });
  third = submitted(*engine, endless("soft piano"), [&] {});
  ready.set_value();
  submitted_second.get_future().wait();
  EXPECT_EQ(20, all_of(*first).frames);
  EXPECT_EQ(10, all_of(*second).frames);
  EXPECT_TRUE(refused);
  EXPECT_TRUE(eventually([&] { return engine->status().running == 0 && engine->status().waiting == 0; }));
}

TEST(Hostile, AFloodOfChangesIsHeardAsTheLastOfThem) {
  const auto engine = golden_engine("tiny-a", 2);
  std::promise<void> blocked, go;
  const auto wait = go.get_future().share();
  bool once = false;
  const auto blocker = submitted(*engine, sampled("", 0.1), [&] {
    if (std::exchange(once, true)) return;
    blocked.set_value();
    wait.wait();
  });
  blocked.get_future().wait();  // the engine stands still
  const auto job = submitted(*engine, endless("soft piano"));
  for (int i = 0; i < 10'000; ++i) {
    Change change;
    change.prompt = "piano number " + std::to_string(i);
    if (i == 10) change.guidance = 2.0F;
    ASSERT_TRUE(job->change(change));
  }
  const Told expected = told_by(*golden_engine("tiny-a", 2), [] {
    Request request = sampled("piano number 9999", 0.6);
    request.guidance = 2.0F;
    return request;
  }());
  go.set_value();
  Told told;
  while (told.audio.size() < 20 * 640) told.add(std::move(*job->wait(60.0)));
  EXPECT_TRUE(std::equal(told.audio.begin(), told.audio.begin() + 20 * 640, expected.audio.begin()));
  EXPECT_LE(engine->status().conditioning_misses, 2);
  for (const Change& wrong :
       {Change{.prompt = "\xFF", .guidance = {}, .temperature = {}}, Change{.prompt = {}, .guidance = NAN, .temperature = {}},
        Change{.prompt = {}, .guidance = {}, .temperature = -1.0F},
        Change{.prompt = std::string(max_prompt_bytes + 1, 'a'), .guidance = {}, .temperature = {}}}) {
    EXPECT_FALSE(job->change(wrong));
  }
}

TEST(Hostile, OneRowHasNothingToGuide) {
  const auto engine = golden_engine("tiny-a", 2);
  for (const bool prompted : {true, false}) {
    Request request = sampled(prompted ? "piano" : "", 1.0);
    request.guidance = prompted ? 1.0F : 3.0F;
    request.buffer_seconds = 0.1;
    request.chunk_seconds = 0.04;
    const auto job = submitted(*engine, request);
    const Status refused = job->change({.prompt = {}, .guidance = 3.0F, .temperature = {}});
    ASSERT_FALSE(refused);
    EXPECT_EQ(ErrorCode::unsupported, refused.error().code);
    EXPECT_NE(std::string::npos, refused.error().message.find("begun without guidance")) << refused.error().message;
    // No part of a refused change is heard, and 1 is what it has.
    EXPECT_FALSE(job->change({.prompt = "drums", .guidance = 2.0F, .temperature = 0.5F}));
    EXPECT_TRUE(job->change({.prompt = {}, .guidance = 1.0F, .temperature = {}}));
    EXPECT_EQ(told_by(*engine, request).codes, all_of(*job).codes);
  }
  Request endless = sampled("", 1.0);
  endless.endless = true;
  EXPECT_TRUE(submitted(*engine, endless)->change({.prompt = {}, .guidance = 3.0F, .temperature = {}}));
}

TEST(Hostile, LaterSegmentsAreHeardAfterAChange) {
  for (const Join join : {Join::continued, Join::crossfaded}) {
    const auto engine = golden_engine("tiny-a", 2);
    Request relay = sampled("", 1.0);
    relay.segments = {{"soft piano", 0.6, join}, {"loud drums", 0.6, join}, {"a flute", 0.6, join}};
    relay.buffer_seconds = 0.1;
    relay.chunk_seconds = 0.04;
    const auto job = submitted(*engine, relay);
    ASSERT_TRUE(eventually([&] { return job->state() == JobState::paused; }));
    ASSERT_TRUE(job->change({.prompt = "violins", .guidance = {}, .temperature = {}}));
    const Told told = all_of(*job);
    EXPECT_EQ(1, told.finished);
    EXPECT_EQ(90U * 640, told.audio.size());
  }
}

TEST(Hostile, SegmentsThatRoundToNothing) {
  for (const Join join : {Join::continued, Join::crossfaded}) {
    const auto engine = golden_engine("tiny-a", 1);
    Request relay = sampled("", 1.0);
    relay.segments.assign(9, {"soft piano", 0.011, join});
    const Told told = told_by(*engine, relay);
    EXPECT_EQ(1, told.finished) << told.error.message;
    EXPECT_EQ(5U * 640, told.audio.size());
  }
}

TEST(Hostile, ATemperatureThatRisesAtTheVeryEnd) {
  const auto source = golden_source("tiny-a");
  const auto executor = std::move(*compute::make_cpu_executor({1, ""}));
  const auto decoder = std::move(*music::MusicDecoder::load(*source, *executor));
  const auto pool = std::move(*decoder->make_kv_pool(compute::KvType::f32, 20));
  const auto make = [&](int rises_at) {
    PieceSettings settings;
    settings.frames = 12;
    settings.two_rows = false;
    settings.sampling.temperature = 0.0F;
    Piece piece(settings, source->config(), {});
    EXPECT_TRUE(piece.reserve(*pool));
    while (!piece.done()) {
      if (piece.step() == rises_at) {
        Sampling sampling;
        sampling.top_k = 0;
        piece.set_sampling(sampling);
      }
      std::vector<compute::Row> rows;
      std::vector<std::int32_t> ids;
      piece.add_rows(rows, ids, 4);
      for (const std::int32_t id : ids) EXPECT_TRUE(id >= 0 && id <= source->config().decoder.special_id);
      executor->begin_pass();
      const compute::Tensor out = decoder->step(rows, ids, *pool);
      std::vector<float> logits(static_cast<std::size_t>(out.rows * out.columns));
      executor->read(out, logits);
      EXPECT_TRUE(piece.advance(logits));
    }
    return piece.codes(0, 9);
  };
  const auto greedy = make(-1);
  EXPECT_EQ(greedy, make(13));
  EXPECT_EQ(greedy, make(14));
}

TEST(Hostile, TenThousandRequests) {
  const auto engine = golden_engine("tiny-a", 1);
  const auto start = std::chrono::steady_clock::now();
  std::atomic<int> notified{0};
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 10'000; ++i)
    jobs.push_back(submitted(*engine, endless(i % 2 == 0 ? "soft piano" : ""), [&] { ++notified; }));
  EXPECT_TRUE(eventually([&] { return engine->status().running + engine->status().waiting == 10'000; }));
  for (std::size_t i = 0; i < jobs.size(); i += 2) jobs[i]->cancel();
  for (std::size_t i = 1; i < jobs.size(); i += 2) jobs[i].reset();  // letting go is cancelling
  int ends = 0;
  for (std::size_t i = 0; i < jobs.size(); i += 2) ends += all_of(*jobs[i]).failed;
  EXPECT_EQ(5'000, ends);
  EXPECT_TRUE(eventually([&] {
    const EngineStatus status = engine->status();
    return status.running == 0 && status.waiting == 0 && status.free_pages == status.pages;
  }));
  EXPECT_EQ(5, told_by(*engine, sampled("a flute", 0.1)).frames);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::minutes(5));
}

TEST(Hostile, DamagedWeightsEndTheirRequestsOnly) {
  const auto engine = std::move(*Engine::create(golden_source("tiny-a", 0, "decoder.head.1.weight"), {}));
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 3; ++i) jobs.push_back(submitted(*engine, sampled("soft piano", 0.4)));
  for (const auto& job : jobs) EXPECT_EQ(ErrorCode::corrupt_file, all_of(*job).error.code);
  EXPECT_TRUE(eventually([&] { return engine->status().free_pages == engine->status().pages; }));
}

TEST(Hostile, MelodyAndStereoModelsDoTheSame) {
  for (const char* model : {"melody", "stereo", "stereo-melody"}) {
    const auto engine = golden_engine(model, 2, 20);
    const int channels = engine->config().decoder.audio_channels, hop = engine->config().codec.hop();
    const double frame = 1.0 / engine->config().codec.frame_rate();
    Request request = sampled("soft piano", 55 * frame);
    request.chunk_seconds = 3 * frame;
    const Told alone = told_by(*engine, request, channels);
    ASSERT_EQ(55, alone.frames) << model << alone.error.message;
    EXPECT_EQ(*engine->decode_codes(alone.codes, 55), alone.audio) << model;
    Request live = endless("loud drums");
    live.buffer_seconds = 30 * frame;
    const auto other = submitted(*engine, live);
    ASSERT_TRUE(eventually([&] { return other->state() == JobState::paused; })) << model;
    EXPECT_EQ(alone.codes, told_by(*engine, request, channels).codes) << model;
    const bool melody = engine->config().is_melody();
    EXPECT_EQ(!melody, other->change({.prompt = "violins", .guidance = {}, .temperature = {}}).has_value());
    Request relay = request;
    relay.segments = {{"soft piano", 30 * frame, Join::crossfaded}, {"a very much longer text", 30 * frame, Join::crossfaded}};
    relay.crossfade_seconds = 5 * frame;
    EXPECT_EQ(static_cast<std::size_t>(60 * hop * channels), told_by(*engine, relay, channels).audio.size()) << model;
    other->cancel();
    all_of(*other, channels);
  }
}

}  // namespace
}  // namespace continuo::engine
