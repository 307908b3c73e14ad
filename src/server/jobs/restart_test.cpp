// What survives the process, and how it ends.
#include <fstream>
#include <nlohmann/json.hpp>

#include "server/jobs/table.h"
#include "server/jobs/test_support.h"

namespace continuo::server {
namespace {

void make_file(const std::string& path) { std::ofstream(path) << "sound"; }

/// Ends the process, as far as a test can: the table goes, its disk and its store stay.
void restart(JobBench& bench) {
  bench.table.reset();
  bench.io.restart();
  bench.io.poll();
  bench.engine.pieces.clear();
  bench.notes.lines.clear();
  bench.now = 5.0;  // the steady clock of another process
}

TEST(Restart, UnfinishedJobsGoOnUnderTheirNames) {
  JobBench bench;
  auto spec = bench.spec();
  spec.takes = 2;
  spec.batch = "batch-1";
  const auto before = bench.accepted(spec);
  const std::string id = before->id();
  bench.engine.piece(0).play();
  bench.engine.piece(1).start();
  bench.engine.piece(1).sound(1.0);
  ASSERT_TRUE(bench.run_until([&] { return before->takes()[1].recording && bench.store.takes.size() == 1; }));
  const std::string first = before->takes()[0].id, second = before->takes()[1].id;
  bench.now += 60.0;
  restart(bench);
  ASSERT_EQ(bench.store.records.size(), 1U);
  const int created = bench.disk.created;
  auto parts = bench.parts();
  parts.clock.wall = [] { return 1e9 + 160.0; };
  bench.table = make_job_table(std::move(parts));
  bench.run(bench.jobs().resume());
  EXPECT_TRUE(bench.uploads.settled);
  const auto job = bench.jobs().find(id).second;
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->created(), 1e9 + 100.0);
  EXPECT_EQ(job->spec().batch, "batch-1");
  EXPECT_EQ(job->takes()[0].id, first);
  EXPECT_EQ(job->takes()[0].state, JobState::finished);  // was complete
  EXPECT_EQ(job->takes()[1].id, second);
  ASSERT_EQ(bench.engine.pieces.size(), 1U);
  EXPECT_EQ(bench.engine.piece(0).request.take, 2);
  EXPECT_EQ(bench.engine.piece(0).request.seed, 11U);
  EXPECT_GE(job->events().front().number, 1600);
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::finished);
  EXPECT_EQ(bench.disk.created, created + 1);
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
  EXPECT_EQ(bench.store.takes.size(), 2U);
}

TEST(Restart, AJobThatWasCompleteIsOnlyPutAway) {
  JobBench bench;
  bench.store.takes_broken = true;
  const auto before = bench.accepted(bench.spec());
  bench.engine.piece(0).play();
  ASSERT_TRUE(bench.until_over(before));
  bench.run(bench.jobs().drain(0.0));
  restart(bench);
  bench.store.takes_broken = false;
  bench.run(bench.jobs().resume());
  EXPECT_TRUE(bench.engine.pieces.empty());
  EXPECT_EQ(bench.jobs().find(before->id()).second->state(), JobState::finished);
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
  EXPECT_EQ(bench.store.takes.size(), 1U);
}

TEST(Restart, WhatCannotGoOnFailsWithTheReason) {
  JobBench bench;
  auto spec = bench.spec();
  auto gone = spec;
  gone.model = "gone";
  auto upload = spec;
  upload.continue_upload = "up";
  std::vector<JobTake> takes(1);
  takes[0].id = "take-1";
  bench.store.records["job-1"] = {"job-1", "{}", 1e9};
  bench.store.records["job-2"] = {"job-2", write_record(gone, takes), 1e9};
  bench.store.records["job-3"] = {"job-3", write_record(upload, takes), 1e9};
  bench.store.records["job-4"] = {"job-4", write_record(spec, takes), 1e9};
  bench.engine.refusal = Error{ErrorCode::out_of_memory, "this piece needs 900 MB"};
  bench.run(bench.jobs().resume());
  const auto why = [&](const std::string& id) {
    const auto job = bench.jobs().find(id).second;
    return job && job->state() == JobState::failed ? job->error()->message : "";
  };
  EXPECT_EQ(why("job-1"), "the record of a job cannot be read");
  EXPECT_EQ(why("job-2"), "the server was restarted without the model gone, so this piece cannot be finished");
  EXPECT_EQ(why("job-3"), "there is no upload 'up' (any more); send the sound again");
  EXPECT_EQ(why("job-4"), "this piece needs 900 MB");
  ASSERT_TRUE(bench.run_until([&] { return bench.store.records.empty(); }));
}

TEST(Restart, RecordsAreReadStrictly) {
  JobBench bench;
  std::vector<JobTake> takes(1);
  takes[0].id = "take-1";
  const std::string good = write_record(bench.spec(), takes);
  ASSERT_TRUE(read_record(good));
  EXPECT_EQ(read_record(good)->takes, std::vector<std::string>{"take-1"});
  for (const nlohmann::json& ids : {nlohmann::json::array(), nlohmann::json{"a", "b"}, nlohmann::json{"../a"}, nlohmann::json{""},
                                    nlohmann::json{1}, nlohmann::json("take-1")}) {
    auto json = nlohmann::json::parse(good);
    json["takes"] = ids;
    EXPECT_FALSE(read_record(json.dump())) << ids;
  }
  EXPECT_FALSE(read_record("[]"));
}

TEST(Restart, RecordingsOfNobodyAreDeleted) {
  JobBench bench;
  for (const char* name : {"take-kept.wav", "take-lost.wav", "other.wav", "take-text.txt", "take-mine.wav"})
    make_file(bench.folder + "/" + name);
  bench.store.takes["take-kept"] = {};
  std::vector<JobTake> takes(1);
  takes[0].id = "take-mine";
  bench.store.records["job-1"] = {"job-1", write_record(bench.spec(), takes), 1e9};
  bench.run(bench.jobs().resume());
  std::string left;
  for (const char* name : {"take-kept.wav", "take-lost.wav", "other.wav", "take-text.txt", "take-mine.wav"}) {
    if (std::filesystem::exists(bench.folder + "/" + name)) left += std::string(left.empty() ? "" : " ") + name;
  }
  EXPECT_EQ(left, "take-kept.wav other.wav take-text.txt take-mine.wav");

  JobBench unreadable;
  make_file(unreadable.folder + "/take-lost.wav");
  unreadable.store.broken = true;
  unreadable.run(unreadable.jobs().resume());
  EXPECT_TRUE(std::filesystem::exists(unreadable.folder + "/take-lost.wav"));
}

TEST(Drain, EndsWhatIsNotReadyWithAWordAndKeepsTheRecord) {
  JobBench bench;
  const auto kept = bench.accepted(bench.spec());
  auto streamed_spec = bench.spec();
  streamed_spec.streamed = true;
  const auto streamed = bench.accepted(streamed_spec);
  const auto cancelled = bench.accepted(bench.spec());
  for (std::size_t i = 0; i < 3; ++i) bench.engine.piece(i).start();
  bench.jobs().cancel(cancelled->id());
  bench.run(bench.jobs().drain(0.0));
  EXPECT_EQ(kept->state(), JobState::failed);
  EXPECT_EQ(kept->events().back().name, "failed");
  EXPECT_EQ(kept->error()->message, "the server is stopping; it goes on with this job when it starts again");
  EXPECT_EQ(streamed->error()->message, "the server is stopping; the piece was not finished");
  EXPECT_EQ(cancelled->state(), JobState::cancelled);
  EXPECT_EQ(bench.store.records.size(), 1U);
  EXPECT_EQ(bench.store.records.count(kept->id()), 1U);
  EXPECT_EQ(bench.refusal(bench.spec()),
            "stopping: the server is stopping; send the request to another one, or again in a moment");

  restart(bench);
  bench.run(bench.jobs().resume());
  bench.engine.piece(0).play();
  const auto job = bench.jobs().find(kept->id()).second;
  ASSERT_TRUE(bench.until_over(job));
  EXPECT_EQ(job->state(), JobState::finished);
}

TEST(Drain, LetsWhatIsNearlyReadyFinish) {
  JobBench bench;
  const auto job = bench.accepted(bench.spec());
  bench.engine.piece(0).start();
  bool drained = false;
  boost::asio::co_spawn(bench.io, bench.jobs().drain(10.0), [&](const std::exception_ptr&) { drained = true; });
  ASSERT_TRUE(bench.run_until([&] { return job->state() == JobState::running; }));
  EXPECT_FALSE(drained);
  bench.engine.piece(0).sound(2.0);
  bench.engine.piece(0).finish();
  ASSERT_TRUE(bench.run_until([&] { return drained; }));
  EXPECT_EQ(job->state(), JobState::finished);
  EXPECT_TRUE(bench.store.records.empty());
}

}  // namespace
}  // namespace continuo::server
