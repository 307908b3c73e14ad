// Jobs on a real engine and real files: the sound that the engine makes alone, also after a restart in the middle.
#include "engine/test_support.h"

#include "server/jobs/test_support.h"

namespace continuo::server {
namespace {

struct RealBench : JobBench {
  RealBench() { models.models = {{"tiny", real.get()}}; }
  JobSpec tiny_spec(double seconds) const {
    JobSpec result = spec("a tune", seconds);
    result.model = "tiny";
    result.request = engine::sampled("a tune", seconds, 9);
    return result;
  }
  void begin() {
    auto real_parts = parts();
    real_parts.recording = {};
    real_parts.clock = JobClock::system();
    table = make_job_table(std::move(real_parts));
  }
  std::vector<float> alone(engine::Request request) {
    const engine::Request requests[] = {std::move(request)};
    auto clips = real->generate(requests, {}, {});
    EXPECT_TRUE(clips) << clips.error().message;
    return clips ? clips->front().audio : std::vector<float>();
  }
  std::unique_ptr<engine::Engine> real = engine::golden_engine("tiny-a", 1);
};

std::vector<float> samples_of(const Recording& recording) {
  std::vector<float> samples(static_cast<std::size_t>(recording.frames() * recording.shape().channels));
  EXPECT_TRUE(recording.read(0, samples));
  return samples;
}

TEST(JobsOnAnEngine, AreTheSoundThatTheEngineMakesAlone) {
  RealBench bench;
  bench.begin();
  auto spec = bench.tiny_spec(0.6);
  spec.takes = 2;
  const auto job = bench.accepted(spec);
  ASSERT_TRUE(bench.until_over(job));
  ASSERT_EQ(job->state(), JobState::finished) << job->error()->message;
  for (int i = 0; i < 2; ++i) {
    auto request = spec.request;
    request.take = i + 1;
    const auto& take = job->takes()[static_cast<std::size_t>(i)];
    EXPECT_EQ(samples_of(*take.recording), bench.alone(request)) << i;
    const auto file = Recording::open(bench.path_of(take));
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ((*file)->shape().frames, 30 * bench.real->config().codec.hop());
  }
}

TEST(JobsOnAnEngine, MakeTheSameMusicAfterARestart) {
  RealBench bench;
  bench.begin();
  const auto spec = bench.tiny_spec(2.0);
  auto job = bench.accepted(spec);
  const std::string id = job->id();
  ASSERT_TRUE(bench.run_until([&] { return job->takes()[0].recording && job->takes()[0].recording->frames() > 0; }));
  ASSERT_EQ(job->state(), JobState::running);
  job.reset();
  bench.table.reset();  // as good as a crash: no word to the store
  bench.begin();
  bench.run(bench.jobs().resume());
  job = bench.jobs().find(id).second;
  ASSERT_NE(job, nullptr);
  ASSERT_TRUE(bench.until_over(job));
  ASSERT_EQ(job->state(), JobState::finished);
  EXPECT_EQ(samples_of(*job->takes()[0].recording), bench.alone(spec.request));
}

TEST(JobsOnAnEngine, ManyAtOnceEachEndOnce) {
  RealBench bench;
  bench.limits.queue = 100;
  bench.begin();
  std::vector<std::shared_ptr<Job>> jobs;
  for (int i = 0; i < 12; ++i) {
    // Those that are cancelled are too long to be over by then.
    auto spec = bench.tiny_spec(i % 4 == 3 ? 25.0 : 0.3);
    spec.request.seed = static_cast<std::uint64_t>(i);
    jobs.push_back(bench.accepted(spec));
    if (i % 4 == 3) bench.jobs().cancel(jobs.back()->id());
  }
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    ASSERT_TRUE(bench.until_over(jobs[i]));
    EXPECT_EQ(jobs[i]->state(), i % 4 == 3 ? JobState::cancelled : JobState::finished) << i;
  }
  bench.run(bench.jobs().drain(0.0));
  EXPECT_TRUE(bench.store.records.empty());
  EXPECT_EQ(bench.store.takes.size(), 9U);
}

}  // namespace
}  // namespace continuo::server
