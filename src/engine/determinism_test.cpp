// Same seed, same music: whatever else the engine does, however the sound is asked for, with any number of threads.
#include <gtest/gtest.h>

#include "engine/conditioner.h"
#include "engine/piece.h"
#include "engine/test_support.h"

namespace continuo::engine {
namespace {

constexpr int hop = 640;
constexpr int short_window = 20;  // frames; pieces of a second roll it several times

std::vector<std::int64_t> beginning(const Told& told, int frames) {
  std::vector<std::int64_t> codes;
  for (int k = 0; k < 4; ++k) {
    for (int t = 0; t < frames; ++t) codes.push_back(told.codes[static_cast<std::size_t>(k * told.frames + t)]);
  }
  return codes;
}

class Determinism : public ::testing::TestWithParam<int> {  // the window, 0 for the model's own
 protected:
  std::unique_ptr<Engine> engine(int threads = 2) const { return golden_engine("tiny-a", threads, GetParam()); }
};

TEST_P(Determinism, AloneOrInAnyCompanyWithAnyNumberOfThreads) {
  const Request mine = sampled("soft piano", 1.1);
  const Told alone = told_by(*engine(1), mine);
  ASSERT_EQ(55, alone.frames);
  for (const int threads : {1, 2, 3}) {
    const auto shared = engine(threads);
    std::vector<std::shared_ptr<Job>> jobs;
    for (int i = 0; i < 7; ++i) jobs.push_back(submitted(*shared, sampled(i % 2 == 0 ? "loud drums" : "", 0.2 + 0.3 * i, 9)));
    jobs.insert(jobs.begin() + 3, submitted(*shared, mine));
    const Told told = all_of(*jobs[3]);
    EXPECT_EQ(alone.codes, told.codes) << threads;
    EXPECT_EQ(alone.audio, told.audio) << threads;
  }
}

TEST_P(Determinism, StreamedInChunksOfAnySizeAndAfterPauses) {
  const auto shared = engine();
  Request request = sampled("soft piano", 1.0);
  const Told whole = told_by(*shared, request);
  for (const double chunk : {0.001, 0.02, 0.14, 0.5, 3.0}) {
    request.chunk_seconds = chunk;
    EXPECT_EQ(whole.audio, told_by(*shared, request).audio) << chunk;
  }
  request.chunk_seconds = 0.04;
  request.buffer_seconds = 0.1;
  const auto job = submitted(*shared, request);
  Told told;
  // A reader that takes little, and only when the piece stands still.
  for (int pauses = 0; pauses < 3; ++pauses) {
    ASSERT_TRUE(eventually([&] { return job->state() == JobState::paused; }));
    for (int i = 0; i < 4; ++i) {
      if (auto event = job->poll()) told.add(std::move(*event));
    }
  }
  while (auto event = job->wait(60.0)) told.add(std::move(*event));
  EXPECT_EQ(whole.codes, told.codes);
  EXPECT_EQ(whole.audio, told.audio);
  const auto decoded = shared->decode_codes(whole.codes, whole.frames);
  ASSERT_TRUE(decoded);
  EXPECT_EQ(*decoded, whole.audio);
}

TEST_P(Determinism, ALongerPieceBeginsWithTheShorterOneAndAnEndlessOneWithBoth) {
  const auto shared = engine();
  const Told longest = told_by(*shared, sampled("soft piano", 1.6));
  for (const double seconds : {0.1, 0.36, 0.4, 0.46, 0.9}) {
    const Told shorter = told_by(*shared, sampled("soft piano", seconds));
    EXPECT_EQ(shorter.codes, beginning(longest, shorter.frames)) << seconds;
  }
  Request endless = sampled("soft piano", 1.0);
  endless.endless = true;
  const auto job = submitted(*shared, endless);
  Told told;
  const std::size_t enough = 70 * hop;
  while (told.audio.size() < enough) {
    auto event = job->wait(60.0);
    ASSERT_TRUE(event);
    told.add(std::move(*event));
  }
  EXPECT_TRUE(std::equal(told.audio.begin(), told.audio.begin() + enough, longest.audio.begin()));
}

TEST_P(Determinism, CancellingLeavesTheNeighboursAlone) {
  const auto shared = engine();
  const Request request = sampled("soft piano", 1.2);
  const Told alone = told_by(*shared, request);
  for (int after = 0; after < 6; ++after) {
    const auto first = submitted(*shared, sampled("loud drums", 30.0, 1)), mine = submitted(*shared, request),
               last = submitted(*shared, sampled("", 30.0, 2));
    Told of_first;
    for (int i = 0; i < after; ++i) of_first.add(std::move(*first->wait(60.0)));
    first->cancel();
    last->cancel();
    EXPECT_EQ(alone.codes, all_of(*mine).codes);
    while (auto event = first->wait(60.0)) of_first.add(std::move(*event));
    EXPECT_EQ(ErrorCode::cancelled, of_first.error.code);
    EXPECT_TRUE(of_first.in_order);
    EXPECT_EQ(ErrorCode::cancelled, all_of(*last).error.code);
  }
}

/// The codes of a piece made step by step, hearing `second` from frame `from` on.
std::vector<std::int64_t> made_by_hand(const Request& request, const std::string& second, int from, int frames, int window) {
  const auto source = golden_source("tiny-a", window);
  const auto executor = std::move(*compute::make_cpu_executor({2, ""}));
  const auto text = std::move(*text::T5Encoder::load(*source, *executor));
  const auto decoder = std::move(*music::MusicDecoder::load(*source, *executor));
  const auto pool = std::move(*decoder->make_kv_pool(compute::KvType::int8, 100));
  Conditioner conditioner(*text, *decoder, *executor, {});
  const auto hear = [&](const std::string& prompt) {
    const std::vector<int> ids = *golden_engine("tiny-a", 1)->tokenize(prompt);
    return Conditioning{conditioner.hear(prompt, ids).cross, nullptr, nullptr, true};
  };
  PieceSettings settings;
  settings.seed = request.seed;
  settings.sampling = request;
  settings.frames = frames;
  Piece piece(settings, source->config(), hear(request.prompt));
  EXPECT_TRUE(piece.reserve(*pool));
  const Conditioning later = hear(second);
  bool switched = false;
  while (!piece.done()) {
    if (piece.step() == from && !std::exchange(switched, true)) piece.hear(later);
    std::vector<compute::Row> rows;
    std::vector<std::int32_t> ids;
    piece.add_rows(rows, ids, 4);
    executor->begin_pass();
    const compute::Tensor out = decoder->step(rows, ids, *pool);
    std::vector<float> logits(static_cast<std::size_t>(out.rows * out.columns));
    executor->read(out, logits);
    EXPECT_TRUE(piece.advance(logits));
  }
  return piece.codes(0, frames);
}

TEST_P(Determinism, ARelayIsThePieceWithItsPromptChangedAtThatFrame) {
  const auto shared = engine();
  Request relay = sampled("soft piano", 1.0);
  relay.segments = {{"soft piano", 0.5, Join::continued}, {"loud drums", 0.5, Join::continued}};
  const Told told = told_by(*shared, relay);
  EXPECT_EQ(made_by_hand(relay, "loud drums", 25, 50, GetParam()), told.codes);
  EXPECT_EQ(beginning(told_by(*shared, sampled("soft piano", 1.0)), 22), beginning(told, 22));
  EXPECT_NE(told_by(*shared, sampled("soft piano", 1.0)).codes, told.codes);
}

TEST_P(Determinism, ACrossfadeIsBetweenThePiecesAsTheyAreAlone) {
  const auto shared = engine();
  Request relay = sampled("", 1.0);
  relay.segments = {{"soft piano", 0.5, Join::continued}, {"loud drums", 0.5, Join::crossfaded}};
  relay.crossfade_seconds = 0.1;
  const Told told = told_by(*shared, relay), first = told_by(*shared, sampled("soft piano", 0.6)),
             second = told_by(*shared, sampled("loud drums", 0.5));
  ASSERT_EQ(static_cast<std::size_t>(50 * hop), told.audio.size());
  EXPECT_TRUE(std::equal(told.audio.begin(), told.audio.begin() + 25 * hop, first.audio.begin()));
  EXPECT_TRUE(std::equal(told.audio.begin() + 30 * hop, told.audio.end(), second.audio.begin() + 5 * hop));
}

TEST_P(Determinism, APromptOfCodesOfAnyLengthIsHeardTheSameInAnyCompany) {
  const auto shared = engine();
  const Told source = told_by(*shared, sampled("loud drums", 1.2));
  for (const int frames : {1, 7, 19, 20, 21, 33, 59}) {
    Request request = sampled("soft piano", 1.3);
    request.prompt_codes = beginning(source, frames);
    request.prompt_frames = frames;
    const Told alone = told_by(*shared, request);
    ASSERT_EQ(65, alone.frames) << frames << ' ' << alone.error.message;
    EXPECT_EQ(request.prompt_codes, beginning(alone, frames)) << frames;
    EXPECT_EQ(static_cast<std::size_t>(65 * hop), alone.audio.size());
    const auto other = submitted(*shared, sampled("loud drums", 20.0));
    EXPECT_EQ(alone.codes, told_by(*shared, request).codes) << frames;
  }
}

INSTANTIATE_TEST_SUITE_P(Windows, Determinism, ::testing::Values(0, short_window),
                         [](const auto& each) { return each.param == 0 ? "OfTheModel" : "Rolling"; });

}  // namespace
}  // namespace continuo::engine
