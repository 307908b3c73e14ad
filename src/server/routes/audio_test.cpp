#include "server/routes/audio.h"

#include <nlohmann/json.hpp>

#include "audio/media.h"
#include "server/http/fake_exchange_test.h"
#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using nlohmann::json;
using test::Answer;
using test::FakeExchange;
using test::Folder;

class FakeJob final : public Job {
 public:
  FakeJob() { made.request.prompt = "calm piano"; }

  JobSpec made;
  JobState now = JobState::queued;
  std::optional<Error> wrong;
  std::vector<JobTake> all;
  Wakes wakes;

  void start(int take, std::shared_ptr<Recording> recording) {
    now = all[static_cast<std::size_t>(take - 1)].state = JobState::running;
    all[static_cast<std::size_t>(take - 1)].recording = std::move(recording);
    wakes.set_all();
  }
  void end(JobState state, std::optional<Error> error = std::nullopt) {
    now = state;
    wrong = std::move(error);
    for (JobTake& take : all) take.state = state;
    wakes.set_all();
  }

  const std::string& id() const override { return id_; }
  const JobSpec& spec() const override { return made; }
  JobState state() const override { return now; }
  std::optional<Error> error() const override { return wrong; }
  int place() const override { return 0; }
  double eta_seconds() const override { return 0.0; }
  double progress() const override { return 0.0; }
  bool realtime() const override { return false; }
  const std::vector<JobTake>& takes() const override { return all; }
  double created() const override { return 0.0; }
  std::optional<double> started() const override { return std::nullopt; }
  std::optional<double> ended() const override { return std::nullopt; }
  const std::deque<JobEvent>& events() const override { return events_; }
  Wakes& changed() override { return wakes; }

 private:
  std::string id_ = "job";
  std::deque<JobEvent> events_;
};

class FakeJobs final : public JobTable {
 public:
  std::shared_ptr<FakeJob> job = std::make_shared<FakeJob>();

  Task<tl::expected<std::shared_ptr<Job>, Refusal>> submit(JobSpec) override { co_return tl::unexpected(Refusal{}); }
  std::pair<Lookup, std::shared_ptr<Job>> find(const std::string& id) const override {
    if (id == "job") return {Lookup::found, job};
    return {id == "old" ? Lookup::expired : Lookup::unknown, nullptr};
  }
  std::vector<std::shared_ptr<Job>> list() const override { return {job}; }
  void cancel(const std::string&) override {}
  double backlog_seconds() const override { return 0.0; }
  Task<void> drain(double) override { co_return; }
};

class AudioRoutesTest : public ::testing::Test {
 protected:
  AudioRoutesTest() {
    routes_.add_to(router_);
    job_.all = {{"take-1", 1, JobState::queued, 0.0, nullptr}, {"take-2", 2, JobState::queued, 0.0, nullptr}};
    job_.made.takes = 2;
  }

  /// path: below /v1/jobs/ID/.
  void prepare(FakeExchange& exchange, const std::string& path, std::map<std::string, std::string, std::less<>> query,
               const std::string& id = "job") {
    exchange.asked.query = std::move(query);
    exchange.asked.captures["id"] = id;
    if (path.starts_with("audio.")) exchange.asked.captures["ext"] = path.substr(6);
    if (path.starts_with("segments/")) exchange.asked.captures["name"] = path.substr(9);
  }
  Task<void> handled(FakeExchange& exchange, const std::string& path) {
    const std::string pattern = "/v1/jobs/{id}/" + (path.starts_with("audio.")      ? "audio.{ext}"
                                                    : path.starts_with("segments/") ? "segments/{name}"
                                                                                    : path);
    for (const Router::Route& route : router_.routes()) {
      if (route.pattern == pattern) return route.handler(exchange);
    }
    throw std::runtime_error("no route " + pattern);
  }
  Answer get(const std::string& path, std::map<std::string, std::string, std::less<>> query = {}, const std::string& id = "job") {
    FakeExchange exchange(io_, "GET");
    prepare(exchange, path, std::move(query), id);
    test::run_to_end(io_, handled(exchange, path));
    return exchange;
  }
  std::string why(const Answer& answer) { return json::parse(answer.body)["error"]["message"]; }

  void finish() {
    job_.start(1, test::complete_recording(folder_ / "one", sound_));
    job_.start(2, test::complete_recording(folder_ / "two", test::rising_tone(16'000, 2)));
    job_.end(JobState::finished);
  }
  /// As time passes: one step after the other, on the I/O thread.
  void later(std::vector<std::function<void()>> steps) {
    auto walk = [](boost::asio::io_context& io, std::vector<std::function<void()>> all) -> Task<void> {
      boost::asio::steady_timer timer(io);
      for (const auto& step : all) {
        timer.expires_after(std::chrono::milliseconds(20));
        co_await timer.async_wait(boost::asio::use_awaitable);
        step();
      }
    };
    boost::asio::co_spawn(io_, walk(io_, std::move(steps)), [](std::exception_ptr error) { EXPECT_EQ(error, nullptr); });
  }

  Folder folder_;
  audio::Sound sound_ = test::rising_tone(32'000 * 5);
  boost::asio::io_context io_{1};
  Pool pool_{2};
  std::unique_ptr<Renditions> renditions_ = std::move(Renditions::create(folder_ / "spool", 1 << 30, pool_).value());
  FakeJobs jobs_;
  FakeJob& job_ = *jobs_.job;
  AudioRoutes routes_{jobs_, *renditions_, pool_};
  Router router_;
};

audio::Sound decoded(const std::string& body) {
  auto sound = audio::decode_media(std::as_bytes(std::span(body.data(), body.size())), "the answer");
  EXPECT_TRUE(sound) << sound.error().message;
  return sound.value_or(audio::Sound{});
}

TEST_F(AudioRoutesTest, AFinishedJobInEveryFormat) {
  finish();
  for (const char* extension : {"wav", "flac", "mp3", "m4a", "ogg"}) {
    const Answer answer = get(std::string("audio.") + extension);
    ASSERT_EQ(answer.status, 200) << extension;
    EXPECT_EQ(answer.length, static_cast<std::int64_t>(answer.body.size())) << "a file has a length";
    const auto back = decoded(answer.body);
    EXPECT_NEAR(static_cast<double>(back.frames()) / back.sample_rate, 5.0, 0.035) << extension;
  }
  const Answer second = get("audio.wav", {{"take", "2"}, {"rate", "48000"}, {"bits", "24"}, {"download", "1"}});
  EXPECT_EQ(second.header("X-Sample-Rate"), "48000");
  EXPECT_EQ(second.header("X-Channels"), "2");
  EXPECT_EQ(second.header("X-Bit-Depth"), "24");
  EXPECT_EQ(second.header("Content-Disposition"), "attachment; filename=\"calm piano 2.wav\"");
  EXPECT_EQ(decoded(second.body).frames(), 24'000);
  EXPECT_NE(second.header("ETag"), get("audio.wav", {{"rate", "48000"}, {"bits", "24"}}).header("ETag"));
}

TEST_F(AudioRoutesTest, TheFormOfTheJobIsThatOfItsLinks) {
  job_.made.output.finish.loop.emplace();
  finish();
  EXPECT_LT(decoded(get("audio.wav").body).frames(), sound_.frames());
  EXPECT_EQ(decoded(get("audio.wav", {{"loop", "0"}}).body).frames(), sound_.frames());
  EXPECT_EQ(get("stream.m3u8").status, 200);
  EXPECT_EQ(get("stream.m3u8", {{"loop", "1"}}).status, 422);
}

TEST_F(AudioRoutesTest, WhatIsNotThereIsSaid) {
  finish();
  for (const char* path : {"audio.wav", "stream.m3u8", "segments/init.mp4", "peaks"}) {
    EXPECT_EQ(get(path, {}, "none").status, 404) << path;
    EXPECT_EQ(get(path, {}, "old").status, 410) << path;
    EXPECT_EQ(get(path, {{"take", "3"}}).status, 422) << path;
    EXPECT_EQ(get(path, {{"takes", "1"}}).status, 422) << path;
  }
  EXPECT_EQ(get("audio.exe").status, 404);
  EXPECT_EQ(get("audio.mp3", {{"bits", "16"}}).status, 422);
  EXPECT_EQ(get("audio.wav", {{"download", "yes"}}).status, 422);
  EXPECT_EQ(get("peaks", {{"bins", "0"}}).status, 422);
  for (const char* name : {"segments/99.m4s", "segments/-1.m4s", "segments/.m4s", "segments/0.mp4", "segments/99999999999.m4s"}) {
    EXPECT_EQ(get(name).status, 404) << name;
  }
}

TEST_F(AudioRoutesTest, AWaitingJobIsWaitedFor) {
  FakeExchange exchange(io_, "GET");
  prepare(exchange, "audio.wav", {});
  std::shared_ptr<Recording> recording;
  later({[&] { EXPECT_FALSE(exchange.begun()); },
         [&] {
           recording = test::empty_recording(folder_ / "one", sound_);
           job_.start(1, recording);
         },
         [&] { EXPECT_TRUE(recording->append(test::frames_of(sound_, 0, 1000))); },
         [&] { EXPECT_EQ(exchange.length, 44 + 2 * sound_.frames()); },
         [&] {
           EXPECT_TRUE(recording->append(test::frames_of(sound_, 1000, sound_.frames() - 1000)));
           EXPECT_TRUE(recording->finish());
         }});
  test::run_to_end(io_, handled(exchange, "audio.wav"));
  EXPECT_EQ(exchange.body.size(), 44U + 2U * sound_.samples.size());
  const auto want = audio::encode_wav(sound_.samples, 1, 32'000, audio::SampleFormat::pcm16).value();
  EXPECT_TRUE(std::equal(want.begin(), want.end(), std::as_bytes(std::span(exchange.body.data(), exchange.body.size())).begin()));
}

TEST_F(AudioRoutesTest, AWaitMayEndBadly) {
  for (const JobState state : {JobState::failed, JobState::cancelled}) {
    job_.now = JobState::queued;
    for (JobTake& take : job_.all) take.state = JobState::queued;
    FakeExchange exchange(io_, "GET");
    prepare(exchange, "audio.mp3", {});
    later({[&] { job_.end(state, Error{ErrorCode::out_of_memory, "planted"}); }});
    test::run_to_end(io_, handled(exchange, "audio.mp3"));
    EXPECT_EQ(exchange.status, 409);
    EXPECT_EQ(why(exchange), "planted");
    EXPECT_EQ(get("stream.m3u8").status, 409);
    EXPECT_EQ(get("peaks").status, 409);
  }
}

TEST_F(AudioRoutesTest, AClientMayHangUpWhileItWaits) {
  for (const char* path : {"audio.wav", "stream.m3u8", "segments/0.m4s"}) {
    FakeExchange exchange(io_, "GET");
    prepare(exchange, path, {});
    later({[&] { exchange.hang_up(); }});
    test::run_to_end(io_, handled(exchange, path));
    EXPECT_FALSE(exchange.begun()) << path;
  }
}

TEST_F(AudioRoutesTest, AStreamIsPlayedWhileItIsMade) {
  const auto recording = test::empty_recording(folder_ / "one", sound_);
  job_.start(1, recording);
  FakeExchange early(io_, "GET");
  prepare(early, "stream.m3u8", {{"take", "1"}, {"rate", "48000"}});
  later({[&] { EXPECT_FALSE(early.begun()) << "no segment is complete"; },
         [&] { EXPECT_TRUE(recording->append(test::frames_of(sound_, 0, 32'000 * 4))); }});
  test::run_to_end(io_, handled(early, "stream.m3u8"));
  ASSERT_EQ(early.status, 200);
  EXPECT_EQ(early.header("Content-Type"), "application/vnd.apple.mpegurl");
  EXPECT_NE(early.body.find("#EXT-X-MAP:URI=\"segments/init.mp4?rate=48000&take=1\"\n"), std::string::npos) << early.body;
  EXPECT_NE(early.body.find("\nsegments/0.m4s?rate=48000&take=1\n"), std::string::npos);
  EXPECT_EQ(early.body.find("ENDLIST"), std::string::npos);

  FakeExchange next(io_, "GET");  // asked for before it is there
  prepare(next, "segments/2.m4s", {{"rate", "48000"}});
  later({[&] {
    EXPECT_FALSE(next.begun());
    EXPECT_TRUE(recording->append(test::frames_of(sound_, 32'000 * 4, 32'000)));
    EXPECT_TRUE(recording->finish());
    job_.end(JobState::finished);
  }});
  test::run_to_end(io_, handled(next, "segments/2.m4s"));
  EXPECT_EQ(next.status, 200);

  const Answer complete = get("stream.m3u8", {{"rate", "48000"}});
  EXPECT_NE(complete.body.find("#EXT-X-ENDLIST"), std::string::npos);
  std::string played = get("segments/init.mp4", {{"rate", "48000"}}).body;
  for (int i = 0; i < 3; ++i) played += get("segments/" + std::to_string(i) + ".m4s", {{"rate", "48000"}}).body;
  const auto back = decoded(played);
  EXPECT_EQ(back.sample_rate, 48'000);
  EXPECT_NEAR(static_cast<double>(back.frames()), 48'000.0 * 5, 2048.0);
}

TEST_F(AudioRoutesTest, PeaksOfAJobBeforeDuringAndAfter) {
  job_.made.request.seconds = 5.0;
  const json before = json::parse(get("peaks").body);
  EXPECT_EQ(before["bins"], 1000);
  EXPECT_EQ(before["duration"], 5.0);
  EXPECT_TRUE(before["min"].empty());
  const auto recording = test::empty_recording(folder_ / "one", sound_);
  job_.start(1, recording);
  ASSERT_TRUE(recording->append(test::frames_of(sound_, 0, 32'000)));
  const json during = json::parse(get("peaks", {{"bins", "50"}, {"by_channel", "1"}}).body);
  EXPECT_EQ(during["max"].size(), 10U);
  EXPECT_EQ(during["channels"].size(), 1U);
  EXPECT_EQ(during["complete"], false);
  ASSERT_TRUE(recording->append(test::frames_of(sound_, 32'000, 32'000 * 4)));
  ASSERT_TRUE(recording->finish());
  job_.end(JobState::finished);
  const json after = json::parse(get("peaks", {{"bins", "50"}}).body);
  EXPECT_EQ(after["max"].size(), 50U);
  EXPECT_EQ(after["complete"], true);
  EXPECT_NEAR(after["max"][30], 0.5, 0.01);
}

}  // namespace
}  // namespace continuo::server
