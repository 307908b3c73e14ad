// The life of a job: taken in, made, ended, forgotten.
#include <nlohmann/json.hpp>

#include "server/jobs/job_json.h"
#include "server/jobs/test_support.h"

namespace continuo::server {
namespace {

std::vector<float> samples_of(const Recording& recording) {
  std::vector<float> samples(static_cast<std::size_t>(recording.frames() * recording.shape().channels));
  EXPECT_TRUE(recording.read(0, samples));
  return samples;
}

bool counts_up(const std::vector<float>& samples, std::size_t count) {
  bool right = samples.size() == count;
  for (std::size_t i = 0; right && i < count; ++i) right = samples[i] == static_cast<float>(i);
  return right;
}

TEST(Jobs, AreMadeWrittenDownAndKept) {
  JobBench bench;
  auto spec = bench.spec();
  spec.title = "mine";
  const auto job = bench.accepted(spec);
  EXPECT_EQ(job->state(), JobState::queued);
  EXPECT_EQ(bench.store.records.count(job->id()), 1U);
  EXPECT_EQ(job->takes().at(0).recording, nullptr);
  FakePiece& piece = bench.engine.piece(0);
  EXPECT_EQ(piece.request.seed, 11U);
  EXPECT_GT(piece.request.buffer_seconds, 0.0);

  piece.queue(3, 40.0);
  ASSERT_TRUE(bench.run_until([&] { return job->place() == 3; }));
  EXPECT_EQ(job->eta_seconds(), 40.0);
  bench.now += 5.0;
  EXPECT_EQ(job->eta_seconds(), 35.0);
  EXPECT_EQ(bench.jobs().backlog_seconds(), 35.0);

  piece.start(true);
  ASSERT_TRUE(bench.run_until([&] { return job->state() == JobState::running && job->takes().at(0).recording; }));
  EXPECT_TRUE(job->realtime());
  EXPECT_EQ(job->started(), 1e9 + 105.0);
  EXPECT_EQ(job->takes().at(0).recording->shape().frames, 6400);
  piece.sound(0.5);
  piece.made(0.5, 3.0);
  ASSERT_TRUE(bench.run_until([&] { return job->takes().at(0).recording->frames() == 1600; }));
  EXPECT_EQ(job->progress(), 0.25);
  EXPECT_EQ(job->eta_seconds(), 3.0);
  piece.sound(1.5);
  bench.now += 2.0;
  piece.finish();
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::finished);
  EXPECT_EQ(job->progress(), 1.0);
  EXPECT_EQ(job->eta_seconds(), 0.0);
  EXPECT_EQ(job->ended(), 1e9 + 107.0);
  EXPECT_EQ(bench.story(*job), "queued queued started progress take finished");
  EXPECT_EQ(nlohmann::json::parse(job->events()[1].data), (nlohmann::json{{"place", 3}, {"eta_seconds", 40.0}}));
  const JobTake& take = job->takes().at(0);
  EXPECT_EQ(take.state, JobState::finished);
  EXPECT_EQ(take.recording->state(), Recording::State::complete);
  EXPECT_TRUE(counts_up(samples_of(*take.recording), 6400));
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
  const KeptTake& kept = bench.store.takes.at(take.id);
  EXPECT_EQ(kept.job, job->id());
  EXPECT_EQ(kept.spec.title, "mine");
  EXPECT_EQ(kept.path, bench.path_of(take));
  EXPECT_EQ(bench.notes.lines, (std::vector<std::string>{"submitted", "started", "first audio", "ended finished finished 2 s"}));
}

TEST(Jobs, ShowThemselvesAsJson) {
  JobBench bench;
  auto spec = bench.spec("a \xFF tune");  // never let in by the parser; still no reason to break
  spec.request.prompt = "a tune";
  spec.output.format = audio::FileFormat::opus;
  const auto job = bench.accepted(spec);
  const nlohmann::json json = nlohmann::json::parse(job_json(*job).dump());
  EXPECT_EQ(json["object"], "job");
  EXPECT_EQ(json["state"], "queued");
  EXPECT_EQ(json["place"], 0);
  EXPECT_EQ(json["seed"], 11);
  EXPECT_EQ(json["error"], nullptr);
  EXPECT_EQ(json["started"], nullptr);
  EXPECT_EQ(json["urls"]["audio"], "/v1/jobs/" + job->id() + "/audio.ogg");
  EXPECT_EQ(json["takes"][0]["audio"]["flac"], "/v1/jobs/" + job->id() + "/audio.flac?take=1");
  bench.engine.piece(0).fail({ErrorCode::io, "it broke"});
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job_json(*job)["error"]["message"], "it broke");
  EXPECT_EQ(job_json(*job)["place"], nullptr);
}

TEST(Jobs, TakesDifferInTheirNumberAlone) {
  JobBench bench;
  auto spec = bench.spec();
  spec.takes = 3;
  const auto job = bench.accepted(spec);
  ASSERT_EQ(bench.engine.pieces.size(), 3U);
  for (int i = 0; i < 3; ++i) {
    EXPECT_EQ(bench.engine.piece(static_cast<std::size_t>(i)).request.take, i + 1);
    EXPECT_EQ(bench.engine.piece(static_cast<std::size_t>(i)).request.seed, 11U);
    EXPECT_EQ(job->takes().at(static_cast<std::size_t>(i)).number, i + 1);
  }
  bench.engine.piece(1).play();
  ASSERT_TRUE(bench.run_until([&] { return job->takes()[1].state == JobState::finished; }));
  EXPECT_EQ(job->state(), JobState::running);
  EXPECT_NEAR(job->progress(), 1.0 / 3.0, 1e-9);
  ASSERT_TRUE(bench.run_until([&] { return bench.store.takes.size() == 1; }));
  EXPECT_EQ(bench.store.takes.at(job->takes()[1].id).spec.request.take, 2);
  // One breaks: the others are made, and the job says that it is not whole.
  bench.engine.piece(0).fail({ErrorCode::io, "numbers that are no numbers"});
  bench.engine.piece(2).play();
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::failed);
  EXPECT_EQ(job->error()->message, "numbers that are no numbers");
  EXPECT_EQ(job->takes()[0].state, JobState::failed);
  EXPECT_EQ(job->takes()[2].state, JobState::finished);
}

TEST(Jobs, AreNotKeptUnlessAsked) {
  JobBench bench;
  auto spec = bench.spec();
  spec.keep = false;
  spec.streamed = true;
  const auto job = bench.accepted(spec);
  EXPECT_TRUE(bench.store.records.empty());
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(job));
  bench.run(bench.jobs().drain(0.0));
  EXPECT_TRUE(bench.store.takes.empty());
}

TEST(Jobs, ProgressIsThinnedOut) {
  JobBench bench;
  const auto job = bench.accepted(bench.spec());
  bench.engine.piece(0).start();
  for (int i = 0; i < 100; ++i) {
    bench.now += 0.01;
    bench.engine.piece(0).made(0.02 * i, 1.0);
    ASSERT_TRUE(bench.run_until([&] { return bench.engine.piece(0).waiting() == 0; }));
  }
  EXPECT_EQ(bench.story(*job), "queued started progress progress");
  EXPECT_NEAR(job->progress(), 0.99, 1e-9);
}

TEST(Jobs, AFailureOfTheEngineIsTold) {
  JobBench bench;
  const auto job = bench.accepted(bench.spec());
  bench.engine.piece(0).start();
  bench.engine.piece(0).sound(0.5);
  bench.engine.piece(0).fail({ErrorCode::cancelled, "the engine was closed"});
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::failed);  // nobody wished it
  EXPECT_EQ(job->error()->message, "the engine was closed");
  EXPECT_EQ(job->takes()[0].recording->state(), Recording::State::failed);
  EXPECT_EQ(bench.story(*job), "queued started take failed");
  EXPECT_EQ(nlohmann::json::parse(job->events().back().data)["error"]["message"], "the engine was closed");
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
}

TEST(Jobs, ASlowDiskHoldsUpItsOwnTakeAndABrokenOneEndsIt) {
  JobBench bench;
  const auto slow = bench.accepted(bench.spec("a", 2000.0 / 50 * 15));  // 600 s
  bench.engine.piece(0).start();
  ASSERT_TRUE(bench.run_until([&] { return slow->takes()[0].recording != nullptr; }));
  bench.disk.set_slow(true);
  for (int i = 0; i < 600; ++i) bench.engine.piece(0).sound(1.0);
  // 4 MiB are taken out of the engine, no more: 12,800 bytes a second of sound.
  ASSERT_TRUE(bench.run_until([&] { return bench.engine.piece(0).waiting() < 600; }));
  for (int i = 0; i < 1000; ++i) {
    bench.io.restart();
    bench.io.poll();
  }
  EXPECT_EQ(bench.engine.piece(0).waiting(), 600U - 328U);
  bench.disk.set_slow(false);
  bench.engine.piece(0).finish();
  ASSERT_TRUE(bench.until_over(slow));
  EXPECT_EQ(slow->state(), JobState::finished);

  const auto broken = bench.accepted(bench.spec("b"));
  bench.disk.breaks_after = 100;
  bench.engine.piece(1).start();
  bench.engine.piece(1).sound(0.5);
  bench.engine.piece(1).sound(0.5);
  ASSERT_TRUE(bench.until_over(broken));
  EXPECT_EQ(broken->state(), JobState::failed);
  EXPECT_EQ(broken->error()->message, "the sound cannot be written: no space left on device");
  EXPECT_EQ(bench.notes.lines.back(), "ended failed disk 0 s");
}

TEST(Jobs, ASlowDiskDoesNotHoldUpACancel) {
  JobBench bench;
  const auto job = bench.accepted(bench.spec("a", 600.0));
  bench.engine.piece(0).start();
  ASSERT_TRUE(bench.run_until([&] { return job->takes()[0].recording != nullptr; }));
  bench.disk.set_slow(true);
  for (int i = 0; i < 400; ++i) bench.engine.piece(0).sound(1.0);
  ASSERT_TRUE(bench.run_until([&] { return bench.engine.piece(0).waiting() == 400 - 328; }));
  bench.jobs().cancel(job->id());
  EXPECT_EQ(bench.engine.pieces[0]->cancels, 1);
  bench.disk.set_slow(false);
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::cancelled);
}

TEST(Jobs, EndOnceWhenCancelledWhereverTheyAre) {
  for (const char* where : {"queued", "running", "twice"}) {
    JobBench bench;
    const auto job = bench.accepted(bench.spec());
    const auto neighbour = bench.accepted(bench.spec("another"));
    FakePiece& piece = bench.engine.piece(0);
    if (where != std::string("queued")) {
      piece.start();
      piece.sound(0.5);
      ASSERT_TRUE(bench.run_until([&] { return job->takes()[0].recording && job->takes()[0].recording->frames() > 0; }));
    }
    bench.jobs().cancel(job->id());
    if (where == std::string("twice")) bench.jobs().cancel(job->id());
    EXPECT_EQ(piece.cancels, 1) << where;
    ASSERT_TRUE(bench.until_over(job)) << where;
    EXPECT_EQ(job->state(), JobState::cancelled) << where;
    EXPECT_FALSE(job->error()) << where;
    EXPECT_EQ(job->events().back().name, "cancelled") << where;
    const auto events = job->events().size();
    bench.jobs().cancel(job->id());
    EXPECT_EQ(job->events().size(), events);
    ASSERT_TRUE(bench.run_until([&] { return bench.store.records.size() == 1; })) << where;
    bench.engine.piece(1).play();
    ASSERT_TRUE(bench.until_over(neighbour)) << where;
    EXPECT_EQ(neighbour->state(), JobState::finished) << where;
    bench.jobs().cancel(neighbour->id());
    EXPECT_EQ(neighbour->state(), JobState::finished) << where;
    bench.jobs().cancel("job-nobody");
  }
}

TEST(Jobs, ACancelThatComesTooLateChangesNothing) {
  JobBench bench;
  const auto job = bench.accepted(bench.spec());
  bench.engine.piece(0).play();  // has ended, but nobody has looked yet
  bench.jobs().cancel(job->id());
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::finished);
}

TEST(Jobs, AreForgottenAfterAWhile) {
  JobBench bench;
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 3; ++i) {
    auto spec = bench.spec();
    spec.keep = i == 1;
    jobs.push_back(bench.accepted(spec));
  }
  for (std::size_t i = 0; i < 3; ++i) {
    std::fclose(std::fopen(bench.path_of(jobs[i]->takes()[0]).c_str(), "w"));
    if (i == 2) break;
    bench.engine.piece(i).play();
    ASSERT_TRUE(bench.until_over(jobs[i]));
  }
  EXPECT_EQ(bench.jobs().list().front(), jobs[2]);
  EXPECT_EQ(bench.jobs().find("job-x").first, JobTable::Lookup::unknown);
  bench.now += 3600.0;
  EXPECT_EQ(bench.jobs().find(jobs[0]->id()).first, JobTable::Lookup::expired);
  EXPECT_EQ(bench.jobs().find(jobs[2]->id()).second, jobs[2]);
  EXPECT_EQ(bench.jobs().list().size(), 1U);
  bench.engine.piece(2).fail({ErrorCode::io, "broken"});
  ASSERT_TRUE(bench.until_over(jobs[2]));
  ASSERT_TRUE(bench.run_until([&] { return !std::filesystem::exists(bench.path_of(jobs[0]->takes()[0])); }));
  EXPECT_TRUE(std::filesystem::exists(bench.path_of(jobs[1]->takes()[0])));  // the library's
  EXPECT_EQ(bench.jobs().find(jobs[0]->id()).first, JobTable::Lookup::expired);
  EXPECT_EQ(bench.jobs().find(jobs[2]->id()).first, JobTable::Lookup::found);
}

TEST(Jobs, OnlySoManyEndedOnesAreKept) {
  JobBench bench;
  bench.limits.jobs_kept = 2;
  std::vector<std::shared_ptr<Job>> jobs;
  for (std::size_t i = 0; i < 4; ++i) {
    jobs.push_back(bench.accepted(bench.spec()));
    bench.engine.piece(i).play();
    ASSERT_TRUE(bench.until_over(jobs[i]));
  }
  EXPECT_EQ(bench.jobs().find(jobs[1]->id()).first, JobTable::Lookup::expired);
  EXPECT_EQ(bench.jobs().find(jobs[2]->id()).first, JobTable::Lookup::found);
}

TEST(Jobs, ALibraryThatTakesNothingLeavesTheRecordForTheNextStart) {
  JobBench bench;
  bench.store.takes_broken = true;
  const auto job = bench.accepted(bench.spec());
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::finished);
  bench.run(bench.jobs().drain(0.0));
  EXPECT_EQ(bench.store.records.count(job->id()), 1U);
  EXPECT_EQ(bench.notes.lines.back().substr(0, 13), "trouble a tak");
}

}  // namespace
}  // namespace continuo::server
