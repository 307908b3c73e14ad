// What is taken in, and what is not.
#include <nlohmann/json.hpp>

#include "server/jobs/test_support.h"

namespace continuo::server {
namespace {

TEST(Submit, RefusesWhatIsBeyondTheLimits) {
  JobBench bench;
  bench.limits.takes = 2;
  bench.limits.seconds = 30.0;
  bench.limits.prompt_bytes = 10;
  bench.limits.segments = 2;
  bench.limits.rows = 1;
  bench.models.models.push_back({"late", nullptr});
  const auto changed = [&](const std::function<void(JobSpec&)>& change) {
    auto spec = bench.spec();
    spec.request.guidance = 1.0F;
    change(spec);
    return bench.refusal(std::move(spec));
  };
  EXPECT_EQ(changed([](JobSpec& spec) { spec.model = "x"; }), "model: there is no model 'x' here");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.model = "late"; }), "loading: the model late is still being loaded");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.takes = 3; }), "takes: 3 takes are asked for; from 1 to 2 are possible");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.seconds = 31.0; }),
            "seconds: 31 s are more than the 30 s that this server makes");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.prompt = "elf letters"; }),
            "prompt: the prompt has 11 bytes; at most 10 are accepted");
  EXPECT_EQ(changed([](JobSpec& spec) {
              spec.request.segments = {{"a", 1.0}, {"elf letters", 1.0}};
            }),
            "prompt: the prompt has 11 bytes; at most 10 are accepted");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.segments.resize(3); }),
            "segments: 3 segments are more than the 2 that are possible");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.endless = true; }),
            "endless: a job has an end; endless music is made on /v1/live");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.melody_upload = "up"; }),
            "melody: the model demo cannot follow a melody; use a melody model for that");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.continue_upload = "up"; }),
            "upload: there is no upload 'up' (any more); send the sound again");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.guidance = 3.0F; }),
            "does_not_fit: a piece with guidance needs 2 rows, and this server runs 1; ask for guidance_scale 1");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.request.temperature = -1.0F; }).substr(0, 8), "invalid:");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.webhook = "https://elsewhere.example.org/"; }).substr(0, 8), "webhook:");
  EXPECT_EQ(changed([](JobSpec& spec) { spec.webhook = "https://hooks.example.org/"; }), "accepted");
  EXPECT_EQ(bench.engine.pieces.size(), 1U);
  EXPECT_EQ(bench.notes.lines.front(), "rejected model");
  EXPECT_EQ(bench.store.records.size(), 1U);
}

TEST(Submit, WhatNeverFitsIsRefusedInTheEnginesWords) {
  JobBench bench;
  bench.engine.refusal = Error{ErrorCode::out_of_memory, "this piece needs 900 MB"};
  EXPECT_EQ(bench.refusal(bench.spec()), "does_not_fit: this piece needs 900 MB");
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
  EXPECT_TRUE(bench.jobs().list().empty());
  EXPECT_EQ(bench.notes.lines, (std::vector<std::string>{"rejected does_not_fit"}));
}

TEST(Submit, WhatCannotBeRecordedIsNotTakenIn) {
  JobBench bench;
  bench.store.broken = true;
  EXPECT_EQ(bench.refusal(bench.spec()), "record: the server cannot write down the job, so it does not take it in");
  EXPECT_TRUE(bench.engine.pieces.empty());
  EXPECT_TRUE(bench.jobs().list().empty());
}

TEST(Submit, TheQueueIsBoundedAndSaysWhenToComeBack) {
  JobBench bench;
  bench.limits.queue = 2;
  const auto running = bench.accepted(bench.spec());
  bench.engine.piece(0).start();
  bench.engine.piece(0).made(0.5, 12.5);
  std::vector<std::shared_ptr<Job>> waiting;
  for (int i = 0; i < 2; ++i) {
    waiting.push_back(bench.accepted(bench.spec()));
    bench.engine.pieces.back()->queue(i, 20.0 + 10.0 * i);
  }
  ASSERT_TRUE(bench.run_until([&] { return waiting[1]->place() == 1 && running->eta_seconds() > 0.0; }));
  bench.now += 2.0;
  auto refused = bench.submit(bench.spec());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::queue_full);
  EXPECT_EQ(refused.error().reason, "queue_full");
  EXPECT_EQ(refused.error().retry_after_seconds, 10.5);  // when the one that runs has ended
  EXPECT_EQ(refused.error().message, "queue full: 2 pieces wait, and at most 2 may; try again in 11 s");
  auto two = bench.spec();
  two.takes = 2;
  refused = bench.submit(two);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().retry_after_seconds, 18.0);  // and the next one too
  EXPECT_EQ(bench.engine.pieces.size(), 3U);

  bench.engine.piece(0).sound(2.0);
  bench.engine.piece(0).finish();
  bench.engine.piece(1).start();
  ASSERT_TRUE(bench.until_over(running));
  ASSERT_TRUE(bench.run_until([&] { return waiting[0]->state() == JobState::running; }));
  EXPECT_EQ(bench.refusal(bench.spec()), "accepted");
}

TEST(Submit, WhoMayRunAtOnceDoesNotCountAsWaiting) {
  JobBench bench;
  bench.limits.queue = 2;
  // An engine with room for all: it admits a moment after each submission.
  std::vector<std::thread> admitting;
  bench.engine.on_submit = [&](FakePiece& piece) {
    admitting.emplace_back([&piece] {
      std::this_thread::sleep_for(std::chrono::milliseconds(3));
      piece.admit();
    });
  };
  for (int i = 0; i < 6; ++i) EXPECT_EQ(bench.refusal(bench.spec()), "accepted");
  auto many = bench.spec();
  many.takes = 8;
  EXPECT_EQ(bench.refusal(many), "accepted");
  for (std::thread& thread : admitting) thread.join();
}

TEST(Submit, WhoWouldWaitInALineOfNoneIsSentAway) {
  JobBench bench;
  bench.limits.queue = 0;
  bench.engine.on_submit = [&](FakePiece& piece) { piece.admit(); };
  const auto first = bench.accepted(bench.spec());
  bench.engine.on_submit = [&](FakePiece& piece) { piece.queue(0, 30.0); };
  auto refused = bench.submit(bench.spec());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::queue_full);
  EXPECT_EQ(bench.engine.piece(1).cancels, 1);
  EXPECT_EQ(bench.jobs().list().size(), 1U);
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.size() == 1; }));
  EXPECT_EQ(bench.notes.lines, (std::vector<std::string>{"submitted", "rejected queue_full"}));
}

TEST(Submit, ABatchIsTakenInWholeOrNotAtAll) {
  JobBench bench;
  bench.limits.queue = 3;
  bench.engine.on_submit = [&](FakePiece& piece) { piece.queue(static_cast<int>(bench.engine.pieces.size()) - 1, 1.0); };
  auto jobs = bench.run(bench.jobs().submit_all({bench.spec("a"), bench.spec("b"), bench.spec("c")}));
  ASSERT_TRUE(jobs);
  ASSERT_EQ(jobs->size(), 3U);
  EXPECT_EQ(jobs->at(1)->spec().request.prompt, "b");
  auto refused = bench.run(bench.jobs().submit_all({bench.spec("d")}));
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, Refusal::Kind::queue_full);
  // One that is wrong: the others are not begun.
  bench.limits.queue = 100;
  JobBench other;
  auto wrong = other.spec("e");
  wrong.model = "x";
  EXPECT_FALSE(other.run(other.jobs().submit_all({other.spec("d"), wrong})));
  EXPECT_TRUE(other.engine.pieces.empty());
}

TEST(Submit, RowsHoldPiecesBack) {
  JobBench bench;
  bench.limits.rows = 4;
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(bench.accepted(bench.spec()));
  ASSERT_EQ(bench.engine.pieces.size(), 2U);
  EXPECT_EQ(jobs[2]->place(), 0);
  EXPECT_EQ(jobs[3]->place(), 1);
  // 100 frames each, 2 + 2 rows a step; a step of two rows takes 20 ms, one of four twice that: 4 s for the first two.
  EXPECT_NEAR(jobs[2]->eta_seconds(), 8.0, 0.1);
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.run_until([&] { return bench.engine.pieces.size() == 3; }));
  EXPECT_EQ(jobs[3]->place(), 0);
  // Cancelled before it began: the next one moves up at once, and nothing was submitted for it.
  bench.jobs().cancel(jobs[3]->id());
  EXPECT_EQ(jobs[3]->state(), JobState::cancelled);
  bench.engine.piece(1).play();
  bench.engine.piece(2).play();
  ASSERT_TRUE(bench.until_over(jobs[2]));
  EXPECT_EQ(bench.engine.pieces.size(), 3U);
  auto one_row = bench.spec();
  one_row.request.guidance = 1.0F;
  for (int i = 0; i < 5; ++i) bench.accepted(one_row);
  EXPECT_EQ(bench.engine.pieces.size(), 7U);
}

TEST(Submit, AnUploadIsContinuedWithItsOwnSamples) {
  JobBench bench;
  audio::Sound sound;
  sound.sample_rate = 3200;
  for (int i = 0; i < 3200 + 10; ++i) sound.samples.push_back(-1.0F);
  bench.uploads.sounds["up"] = sound;
  auto spec = bench.spec();
  spec.continue_upload = "up";
  spec.continue_seconds = 0.5;
  const auto job = bench.accepted(spec);
  EXPECT_EQ(bench.uploads.pins["up"], 1);
  ASSERT_TRUE(bench.run_until([&] { return bench.engine.pieces.size() == 1; }));
  EXPECT_EQ(bench.engine.piece(0).request.prompt_frames, 25);
  EXPECT_EQ(bench.engine.piece(0).request.prompt_codes.size(), 100U);
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(bench.uploads.pins["up"], 0);
  std::vector<float> samples(6400);
  ASSERT_TRUE(job->takes()[0].recording->read(0, samples));
  EXPECT_EQ(samples[0], -1.0F);
  EXPECT_EQ(samples[1500], -1.0F);
  EXPECT_GT(samples[1590], 100.0F);  // in the fade of 20 ms
  EXPECT_EQ(samples[1600], 1600.0F);
  EXPECT_EQ(samples[6399], 6399.0F);
}

TEST(Submit, AnUploadThatCannotBeContinuedIsRefusedOrFails) {
  JobBench bench;
  audio::Sound sound;
  sound.sample_rate = 3200;
  sound.samples.resize(3 * 3200, 0.1F);
  bench.uploads.sounds["up"] = sound;
  auto spec = bench.spec();
  spec.continue_upload = "up";
  EXPECT_EQ(bench.refusal(spec),
            "upload: 3.00 s are to be continued, but the piece lasts only 2 s, what is continued included; ask for more, or "
            "continue less of it (\"last\")");
  EXPECT_EQ(bench.uploads.pins["up"], 0);
  spec.continue_seconds = 0.001;
  EXPECT_EQ(bench.refusal(spec), "upload: what is to be continued is shorter than one frame, 0.02 s");
  spec.continue_seconds = 1.0;
  bench.engine.refusal = Error{ErrorCode::out_of_memory, "too large"};
  const auto job = bench.accepted(spec);
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::failed);
  EXPECT_EQ(job->error()->message, "too large");
  EXPECT_EQ(bench.uploads.pins["up"], 0);
}

TEST(Submit, AMelodyIsHeardAndACancelDuringThePreparationEndsAtOnce) {
  JobBench bench;
  audio::Sound sound;
  sound.sample_rate = 3200;
  for (int i = 0; i < 3200 * 20; ++i) sound.samples.push_back(static_cast<float>(std::sin(i * 0.864)));  // 440 Hz
  bench.uploads.sounds["up"] = sound;
  auto spec = bench.spec();
  spec.model = "melody";
  spec.melody_upload = "up";
  const auto job = bench.accepted(spec);
  ASSERT_TRUE(bench.run_until([&] { return bench.melody_engine.pieces.size() == 1; }));
  EXPECT_EQ(bench.melody_engine.piece(0).request.melody.at(3), 9);  // A
  bench.uploads.held = true;
  const auto cancelled = bench.accepted(spec);
  bench.jobs().cancel(cancelled->id());
  EXPECT_EQ(cancelled->state(), JobState::cancelled);
  EXPECT_EQ(bench.uploads.pins["up"], 1);
  bench.uploads.held = false;
  bench.jobs().cancel(job->id());
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(bench.uploads.pins["up"], 0);
  bench.run(bench.jobs().drain(0.0));
  EXPECT_EQ(bench.melody_engine.pieces.size(), 1U);
}

}  // namespace
}  // namespace continuo::server
