// The scheduler's promises on a model that only exists as numbers, under a clock that only exists as a number.
#include "engine/scheduler.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <set>

namespace continuo::engine {
namespace {

constexpr double frame_seconds = 0.02;

/// Steps take base + by_row x rows. Every step gives every piece in it one frame.
struct FakeModel {
  double base = 0.004;
  double by_row = 0.0008;
  double seconds(int rows) const { return base + by_row * rows; }
};

struct FakeJob {
  JobId id = 0;
  Service service = Service::normal;
  int rows = 2;
  int steps_left = 0;
  int pages = 0;
  double submitted = 0.0;
  double first_sound = -1.0;
  double sent = 0.0;  // seconds of sound handed out
  int last_served = -1;
  double ended = -1.0;
  bool cancelled = false;

  double dry_in(double now) const {
    return service == Service::realtime && first_sound >= 0.0 ? first_sound + sent - now
                                                              : std::numeric_limits<double>::infinity();
  }
};

class World {
 public:
  World(int max_rows, int pages) : scheduler(max_rows), free_pages(pages), all_pages(pages) {}

  void submit(FakeJob job) {
    job.submitted = now;
    jobs[job.id] = job;
    admission.wait(job.id, job.pages);
    admit();
  }

  void cancel(JobId id) {
    FakeJob& job = jobs.at(id);
    if (job.ended >= 0.0) return;
    if (running.erase(id) > 0) {
      scheduler.remove(id);
      free_pages += job.pages;
    } else {
      admission.remove(id);
    }
    job.ended = now;
    job.cancelled = true;
    admit();
  }

  void admit() {
    for (JobId id = admission.admit(free_pages); id != 0; id = admission.admit(free_pages)) {
      free_pages -= jobs.at(id).pages;
      running.insert(id);
      scheduler.add(id, jobs.at(id).service);
      jobs.at(id).last_served = step;
    }
  }

  /// One step with everything that must hold in it. `stalled`: jobs whose reader does not read.
  void run_step(const std::set<JobId>& stalled = {}) {
    std::vector<Scheduler::Candidate> ready;
    int wanted = 0;
    for (const JobId id : running) {
      if (stalled.contains(id)) {
        jobs.at(id).last_served = step;
        continue;
      }
      ready.push_back({id, jobs.at(id).rows, jobs.at(id).dry_in(now)});
      wanted += jobs.at(id).rows;
    }
    const auto picked = scheduler.pick(ready);
    ++step;
    if (ready.empty()) {
      now += frame_seconds;
      return;
    }
    ASSERT_FALSE(picked.empty()) << "work, but nobody works";
    int rows = 0;
    std::set<JobId> seen;
    for (const JobId id : picked) {
      ASSERT_TRUE(running.contains(id) && !stalled.contains(id));
      ASSERT_TRUE(seen.insert(id).second) << "twice in a step";
      rows += jobs.at(id).rows;
    }
    ASSERT_TRUE(rows <= scheduler.max_rows() || picked.size() == 1);
    now += model.seconds(rows);
    for (const JobId id : picked) {
      FakeJob& job = jobs.at(id);
      job.last_served = step;
      job.sent += frame_seconds;
      if (job.first_sound < 0.0 && job.sent >= 0.5) job.first_sound = now;
      worst_dry = std::min(worst_dry, job.dry_in(now));
      if (--job.steps_left == 0) {
        job.ended = now;
        running.erase(id);
        scheduler.remove(id);
        free_pages += job.pages;
        ++ended;
      }
    }
    ASSERT_LE(free_pages, all_pages);
    ASSERT_GE(free_pages, 0);
    for (const JobId id : running) longest_wait = std::max(longest_wait, step - jobs.at(id).last_served);
    admit();
  }

  FakeModel model;
  Scheduler scheduler;
  Admission admission;
  std::map<JobId, FakeJob> jobs;
  std::set<JobId> running;
  int free_pages;
  int all_pages;
  int step = 0;
  int ended = 0;
  int longest_wait = 0;  // steps, of an admitted piece
  double now = 0.0;
  double worst_dry = std::numeric_limits<double>::infinity();
};

TEST(Scheduler, EverybodyTakesPartWhileThereIsRoom) {
  Scheduler scheduler(8);
  for (JobId id = 1; id <= 4; ++id) scheduler.add(id, Service::normal);
  const std::vector<Scheduler::Candidate> ready = {{1, 2}, {2, 2}, {3, 2}, {4, 2}};
  EXPECT_EQ(4U, scheduler.pick(ready).size());
}

TEST(Scheduler, RowsAreSharedOutInSlicesAndEvenly) {
  World world(4, 1000);
  for (JobId id = 1; id <= 5; ++id) world.submit({.id = id, .steps_left = 100'000});
  for (int i = 0; i < 5000; ++i) world.run_step();
  int least = 1 << 30, most = 0;
  for (const auto& [id, job] : world.jobs) {
    least = std::min(least, 100'000 - job.steps_left);
    most = std::max(most, 100'000 - job.steps_left);
  }
  EXPECT_EQ(2 * 5000, 5 * (least + most) / 2) << "two of five pieces in every step";
  EXPECT_LE(most - least, 2 * slice_steps);
  EXPECT_LE(world.longest_wait, 3 * slice_steps);
}

TEST(Scheduler, AShortRequestIsNotStuckBehindLongOnes) {
  World world(4, 1000);
  for (JobId id = 1; id <= 4; ++id) world.submit({.id = id, .steps_left = 1500});
  for (int i = 0; i < 400; ++i) world.run_step();
  world.submit({.id = 9, .steps_left = 100});
  const int start = world.step;
  while (world.jobs.at(9).ended < 0.0 && world.step < 10'000) world.run_step();
  // Five share two places: about 250 steps for its 100, and a slice or two of waiting.
  EXPECT_LE(world.step - start, 250 + 4 * slice_steps);
}

TEST(Scheduler, AWidePieceGetsItsTurnAmongNarrowOnes) {
  World world(8, 1000);
  for (JobId id = 1; id <= 6; ++id) world.submit({.id = id, .rows = 2, .steps_left = 1'000'000});
  world.submit({.id = 7, .rows = 8, .steps_left = 1'000'000});
  world.submit({.id = 8, .rows = 20, .steps_left = 1'000'000});  // wider than any step: runs alone
  for (int i = 0; i < 4000; ++i) world.run_step();
  EXPECT_GT(1'000'000 - world.jobs.at(7).steps_left, 500);
  EXPECT_GT(1'000'000 - world.jobs.at(8).steps_left, 500);
  EXPECT_LE(world.longest_wait, 6 * slice_steps);
}

TEST(Scheduler, GuaranteedStreamsNeverRunDryBesideAnyCrowd) {
  World world(16, 100'000);
  // Two streams and twelve others: with everybody, a step takes 16.8 ms of the 20 that a frame lasts.
  for (JobId id = 1; id <= 2; ++id) world.submit({.id = id, .service = Service::realtime, .steps_left = 3000});
  for (JobId id = 10; id < 30; ++id) world.submit({.id = id, .steps_left = 2000});
  world.model.by_row = 0.0013;  // 24.8 ms with all 16 rows: too slow for the streams, if everybody always takes part
  while (world.jobs.at(1).ended < 0.0 || world.jobs.at(2).ended < 0.0) {
    world.run_step();
    ASSERT_LT(world.step, 200'000);
  }
  EXPECT_GE(world.worst_dry, 0.0);
  EXPECT_GT(world.ended, 0) << "and the others got on";
  EXPECT_LE(world.longest_wait, 40 * rescue_period);
}

TEST(Admission, SmallRequestsPassALargeOneButNotForEver) {
  Admission admission;
  admission.wait(1, 100);
  for (JobId id = 2; id < 40; ++id) admission.wait(id, 1);
  int passed = 0;
  while (admission.admit(10) != 0) ++passed;
  EXPECT_EQ(most_overtakings, passed);
  EXPECT_EQ(0, admission.place(1));
  EXPECT_EQ(1U, admission.admit(100));
  EXPECT_EQ(10U, admission.admit(1));
  admission.remove(11);
  EXPECT_EQ(-1, admission.place(11));
  EXPECT_EQ(0, admission.place(12));
}

TEST(StepTimes, FindTheLineThroughWhatWasMeasured) {
  StepTimes times;
  EXPECT_FALSE(times.known());
  std::mt19937 random(1);
  for (int i = 0; i < 500; ++i) {
    const int rows = 2 + static_cast<int>(random() % 15);
    times.step(rows, 0.004 + 0.0008 * rows);
    times.codec(10, 0.012);
  }
  EXPECT_NEAR(0.004 + 0.0008 * 6, times.predict(6, 0), 1e-5);
  EXPECT_NEAR(0.004 + 0.0008 * 20 + 0.0036, times.predict(20, 3), 1e-4);
}

TEST(StepTimes, OneWidthAloneIsJudgedCarefully) {
  StepTimes times;
  times.step(2, 0.008);
  EXPECT_NEAR(0.008, times.predict(2, 0), 1e-9);
  EXPECT_NEAR(0.016, times.predict(4, 0), 1e-9);
}

TEST(StepTimes, CountEverythingForThoseWhoWatch) {
  StepTimes times;
  times.step(2, 0.001);  // exactly a bound
  times.step(8, 0.0011);
  times.step(4, 7.0);
  times.codec(25, 0.03);
  times.codec(10, 0.01);
  EXPECT_EQ(1, times.steps().counts[0]);
  EXPECT_EQ(1, times.steps().counts[1]);
  EXPECT_EQ(1, times.steps().counts.back());
  EXPECT_NEAR(7.0021, times.steps().seconds, 1e-12);
  EXPECT_EQ(2, std::accumulate(times.codec_passes().counts.begin(), times.codec_passes().counts.end(), 0));
  EXPECT_NEAR(0.04, times.codec_passes().seconds, 1e-12);
  EXPECT_EQ(35, times.frames());
  EXPECT_EQ(4, times.last_rows());
}

TEST(FinishTimes, AreExactForAKnownMachine) {
  World world(8, 60);
  StepTimes times;
  for (int rows = 1; rows <= 16; ++rows) times.step(rows, world.model.seconds(rows));
  std::vector<Load> running, waiting;
  const int steps[] = {300, 150, 700, 400, 90, 500};
  for (JobId id = 1; id <= 6; ++id) {
    const int length = steps[id - 1];
    world.submit({.id = id, .rows = 2, .steps_left = length, .pages = 20});
    (id <= 3 ? running : waiting).push_back({id, 2, length, 20});
  }
  const auto expected = finish_times(running, waiting, 0, 8, times);
  while (world.ended < 6) world.run_step();
  for (JobId id = 1; id <= 6; ++id) EXPECT_NEAR(expected[id - 1], world.jobs.at(id).ended, 0.01) << id;
}

/// Random arrivals, lengths, classes, cancels and stalled readers; run_step checks every invariant.
class RandomTraffic : public ::testing::TestWithParam<unsigned> {};

TEST_P(RandomTraffic, EndsEveryRequestOnceAndLeavesNothingBehind) {
  std::mt19937 random(GetParam());
  const auto below = [&](unsigned n) { return static_cast<int>(random() % n); };
  World world(4 + 2 * below(10), 50 + below(300));
  const int pages = world.free_pages;
  JobId next = 1;
  std::set<JobId> stalled;
  int cancelled = 0;
  for (int i = 0; i < 6000; ++i) {
    if (below(20) == 0) {
      FakeJob job{.id = next++, .rows = 1 + below(2), .steps_left = 1 + below(800)};
      job.service = below(8) == 0 ? Service::realtime : Service::normal;
      job.pages = std::min(pages, 1 + job.rows * job.steps_left / 32);
      world.submit(job);
    }
    if (below(100) == 0 && next > 1) {
      const JobId id = 1 + static_cast<JobId>(below(static_cast<unsigned>(next - 1)));
      cancelled += world.jobs.at(id).ended < 0.0 ? 1 : 0;
      world.cancel(id);
      world.cancel(id);  // twice is fine
      stalled.erase(id);
    }
    if (below(50) == 0 && !world.running.empty()) stalled.insert(*world.running.begin());
    if (below(50) == 0) stalled.clear();
    world.run_step(stalled);
    if (HasFatalFailure()) return;
  }
  for (int i = 0; i < 500'000 && world.ended + cancelled < static_cast<int>(next) - 1; ++i) {
    world.run_step();
    if (HasFatalFailure()) return;
  }
  EXPECT_EQ(static_cast<int>(next) - 1, world.ended + cancelled);
  EXPECT_EQ(pages, world.free_pages);
  EXPECT_TRUE(world.running.empty());
  EXPECT_EQ(0U, world.admission.size());
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomTraffic, ::testing::Range(1U, 9U));

}  // namespace
}  // namespace continuo::engine
