// What the tests of jobs stand on: an engine whose pieces do what the test says, recordings in memory, a store in memory, clocks
// that stand still, and a loop that runs until something is so.
#pragma once

#include <utility>  // before Asio

#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/io_context.hpp>
#include <condition_variable>
#include <filesystem>
#include <map>
#include <mutex>
#include <thread>

#include "server/jobs/jobs.h"

namespace continuo::server {

inline weights::ModelConfig small_config(bool melody = false) {
  weights::ModelConfig config;
  config.name = melody ? "a melody model" : "a text model";
  config.decoder.codebooks = 4;
  config.decoder.codebook_size = 2048;
  config.decoder.delays = {0, 1, 2, 3};
  config.codec.sample_rate = 3200;
  config.codec.ratios = {8, 8};
  config.melody.bins = melody ? 12 : 0;
  return config;  // 50 frames a second of 64 samples
}

/// A piece in the engine, led by the test.
class FakePiece final : public engine::Job {
 public:
  FakePiece(engine::Request asked, std::function<void()> notify) : request(std::move(asked)), notify_(std::move(notify)) {}

  engine::JobId id() const override { return 1; }
  std::optional<engine::Event> poll() override {
    const std::lock_guard lock(mutex_);
    if (events_.empty()) return std::nullopt;
    engine::Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }
  std::optional<engine::Event> wait(double) override { return poll(); }
  engine::JobState state() const override { return state_; }
  void cancel() override {
    ++cancels;
    if (state_ != engine::JobState::ended && !deaf) fail({ErrorCode::cancelled, "cancelled"});
  }
  Status change(const engine::Change&) override { return {}; }

  void put(engine::Event event) {
    {
      const std::lock_guard lock(mutex_);
      events_.push_back(std::move(event));
    }
    notify_();
  }
  std::size_t waiting() const {
    const std::lock_guard lock(mutex_);
    return events_.size();
  }
  void queue(int place, double eta) { put(engine::Queued{place, eta}); }
  void admit() { state_ = engine::JobState::running; }
  void start(bool realtime = false) {
    admit();
    put(engine::Started{realtime, 0.0});
  }
  /// Samples that count up from 0.
  void sound(double seconds) {
    engine::Audio audio;
    audio.first = sent_;
    for (int i = 0; i < static_cast<int>(seconds * 3200 + 0.5); ++i) audio.samples.push_back(static_cast<float>(sent_++));
    put(std::move(audio));
  }
  void made(double seconds, double eta) { put(engine::Made{seconds, eta}); }
  void finish() {
    state_ = engine::JobState::ended;
    put(engine::Finished{});
  }
  void fail(Error error) {
    state_ = engine::JobState::ended;
    put(engine::Failed{std::move(error)});
  }
  /// All of it at once.
  void play() {
    start();
    sound(engine::request_seconds(request));
    finish();
  }

  const engine::Request request;
  std::atomic<int> cancels = 0;
  bool deaf = false;  // cancelling does nothing yet

 private:
  std::function<void()> notify_;
  mutable std::mutex mutex_;
  std::deque<engine::Event> events_;
  std::atomic<engine::JobState> state_ = engine::JobState::queued;
  std::int64_t sent_ = 0;
};

class FakeEngine final : public engine::Engine {
 public:
  explicit FakeEngine(bool melody = false) : config_(small_config(melody)) {}

  const weights::ModelConfig& config() const override { return config_; }
  int threads() const override { return 1; }
  std::string isa() const override { return "fake"; }
  Result<std::shared_ptr<engine::Job>> submit(const engine::Request& request, std::function<void()> notify) override {
    const std::lock_guard lock(mutex);
    if (refusal) return forward_error(*refusal);
    pieces.push_back(std::make_shared<FakePiece>(request, std::move(notify)));
    if (on_submit) on_submit(*pieces.back());
    return pieces.back();
  }
  engine::EngineStatus status() const override {
    engine::EngineStatus status;
    status.step_seconds = 0.02;
    return status;
  }
  Result<std::vector<engine::Clip>> generate(std::span<const engine::Request>,
                                             const std::function<void(const engine::Progress&)>&,
                                             const std::function<bool()>&) override {
    return fail(ErrorCode::unsupported, "not here");
  }
  engine::Timing last_timing() const override { return {}; }
  Result<std::vector<int>> tokenize(const std::string&) const override { return std::vector<int>{1}; }
  Result<std::vector<float>> encode_text(std::span<const int>) override { return std::vector<float>(); }
  Result<std::vector<float>> fingerprint(const std::string&) override { return std::vector<float>(); }
  Result<std::vector<float>> decode_codes(std::span<const std::int64_t>, int, int) override { return std::vector<float>(); }
  Result<std::vector<std::int64_t>> encode_audio(std::span<const float> audio) override {
    return std::vector<std::int64_t>(audio.size() / 64 * 4, 7);
  }
  Result<StepTime> time_step(int, int) override { return StepTime{}; }
  std::int64_t step_weight_bytes() const override { return 0; }
  std::int64_t kv_bytes(int) const override { return 0; }

  FakePiece& piece(std::size_t index) { return *pieces.at(index); }

  std::mutex mutex;  // of what follows, while the pool submits
  std::vector<std::shared_ptr<FakePiece>> pieces;
  std::optional<Error> refusal;
  std::function<void(FakePiece&)> on_submit;

 private:
  weights::ModelConfig config_;
};

class FakeModels final : public Models {
 public:
  const Model* find(std::string_view id) const override {
    for (const Model& model : models) {
      if (model.id == id) return &model;
    }
    return nullptr;
  }
  std::vector<const Model*> list() const override {
    std::vector<const Model*> all;
    for (const Model& model : models) all.push_back(&model);
    return all;
  }
  std::vector<Model> models;
};

/// A disk of recordings that can be slow and break.
struct MemoryDisk {
  std::mutex mutex;
  std::condition_variable changed;
  bool slow = false;                      // appends wait until it is false again
  std::int64_t breaks_after = 1LL << 60;  // frames of each
  int created = 0;
  std::map<std::string, std::shared_ptr<Recording>> files;

  void set_slow(bool value) {
    {
      const std::lock_guard lock(mutex);
      slow = value;
    }
    changed.notify_all();
  }
  std::shared_ptr<Recording> file(const std::string& path) {
    const std::lock_guard lock(mutex);
    const auto found = files.find(path);
    return found != files.end() ? found->second : nullptr;
  }
};

class MemoryRecording final : public Recording {
 public:
  MemoryRecording(MemoryDisk& disk, std::string path, Shape shape) : disk_(disk), path_(std::move(path)), shape_(shape) {}
  const Shape& shape() const override { return shape_; }
  const std::string& path() const override { return path_; }
  State state() const override {
    const std::lock_guard lock(mutex_);
    return state_;
  }
  std::optional<Error> error() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }
  std::int64_t frames() const override {
    const std::lock_guard lock(mutex_);
    return static_cast<std::int64_t>(samples_.size()) / shape_.channels;
  }
  Status append(std::span<const float> interleaved) override {
    {
      std::unique_lock lock(disk_.mutex);
      disk_.changed.wait(lock, [&] { return !disk_.slow; });
    }
    const std::lock_guard lock(mutex_);
    if (static_cast<std::int64_t>(samples_.size()) >= disk_.breaks_after)
      return continuo::fail(ErrorCode::io, "the sound cannot be written: no space left on device");
    samples_.insert(samples_.end(), interleaved.begin(), interleaved.end());
    return {};
  }
  Status finish() override {
    if (frames() != shape_.frames) return continuo::fail(ErrorCode::invalid_argument, "{} of {} frames", frames(), shape_.frames);
    const std::lock_guard lock(mutex_);
    state_ = State::complete;
    return {};
  }
  void fail(Error error) override {
    const std::lock_guard lock(mutex_);
    if (state_ != State::growing) return;
    state_ = State::failed;
    error_ = std::move(error);
  }
  Result<std::int64_t> read(std::int64_t first, std::span<float> out) const override {
    const std::lock_guard lock(mutex_);
    const auto begin = std::min(static_cast<std::size_t>(first), samples_.size());
    const auto count = std::min(out.size(), samples_.size() - begin);
    std::copy_n(samples_.begin() + static_cast<std::ptrdiff_t>(begin), count, out.begin());
    return static_cast<std::int64_t>(count);
  }
  std::int64_t listen(std::function<void()>) override { return 0; }
  void forget(std::int64_t) override {}

 private:
  MemoryDisk& disk_;
  const std::string path_;
  const Shape shape_;
  mutable std::mutex mutex_;
  State state_ = State::growing;
  std::optional<Error> error_;
  std::vector<float> samples_;
};

inline RecordingMaker recordings_on(MemoryDisk& disk) {
  RecordingMaker maker;
  maker.create = [&disk](const std::string& path, const Recording::Shape& shape) -> Result<std::shared_ptr<Recording>> {
    const auto recording = std::make_shared<MemoryRecording>(disk, path, shape);
    const std::lock_guard lock(disk.mutex);
    ++disk.created;
    disk.files[path] = recording;
    return recording;
  };
  maker.open = [&disk](const std::string& path) -> Result<std::shared_ptr<Recording>> {
    const auto recording = disk.file(path);
    if (!recording || recording->state() != Recording::State::complete) return fail(ErrorCode::not_found, "none, or cut short");
    return recording;
  };
  return maker;
}

class MemoryStore final : public JobStore {
 public:
  Status record(const JobRecord& job) override {
    const std::lock_guard lock(mutex);
    if (broken) return fail(ErrorCode::io, "the database is read-only");
    records[job.id] = job;
    return {};
  }
  Status remove(const std::string& id) override {
    const std::lock_guard lock(mutex);
    records.erase(id);
    return {};
  }
  Result<std::vector<JobRecord>> unfinished() override {
    const std::lock_guard lock(mutex);
    if (broken) return fail(ErrorCode::io, "the database cannot be read");
    std::vector<JobRecord> all;
    for (const auto& [id, record] : records) all.push_back(record);
    return all;
  }
  Status add_take(const KeptTake& take) override {
    const std::lock_guard lock(mutex);
    if (takes_broken) return fail(ErrorCode::io, "the library is full");
    takes.emplace(take.id, take);
    return {};
  }
  Result<bool> has_take(const std::string& id) override {
    const std::lock_guard lock(mutex);
    return takes.contains(id);
  }

  std::mutex mutex;
  std::map<std::string, JobRecord> records;
  std::map<std::string, KeptTake> takes;
  bool broken = false, takes_broken = false;
};

class FakeUploads final : public UploadedSounds {
 public:
  std::optional<double> pin(const std::string& id) override {
    const auto found = sounds.find(id);
    if (found == sounds.end()) return std::nullopt;
    ++pins[id];
    return static_cast<double>(found->second.frames()) / found->second.sample_rate;
  }
  void unpin(const std::string& id) override { --pins[id]; }
  Result<audio::Sound> sound(const std::string& id) override {
    while (held) std::this_thread::sleep_for(std::chrono::microseconds(100));
    return sounds.at(id);
  }
  void settle() override { settled = true; }

  std::map<std::string, audio::Sound> sounds;
  std::map<std::string, int> pins;
  bool settled = false;
  std::atomic<bool> held = false;  // reading waits until it is false again
};

/// Writes down what it is told: "ended finished".
class Notes final : public JobObserver {
 public:
  void on_submitted(const Job&) override { lines.push_back("submitted"); }
  void on_started(const Job&, double) override { lines.push_back("started"); }
  void on_first_audio(const Job&, double) override { lines.push_back("first audio"); }
  void on_ended(const Job& job, const std::string& reason, double, double audio) override {
    lines.push_back(fmt::format("ended {} {} {:g} s", name_of(job.state()), reason, audio));
  }
  void on_rejected(const std::string& reason) override { lines.push_back("rejected " + reason); }
  void on_take_forgotten(const std::string&) override { lines.push_back("forgotten"); }
  void on_trouble(const std::string& what) override { lines.push_back("trouble " + what); }
  std::vector<std::string> lines;
};

/// A table and all that it stands on. The thread of the test is the I/O thread.
class JobBench {
 public:
  JobBench() {
    models.models.push_back({"demo", &engine});
    models.models.push_back({"melody", &melody_engine});
    folder = fmt::format("{}/jobs-{}-{}", CONTINUO_BINARY_DIR, ::getpid(), ++benches());
    std::filesystem::create_directories(folder);
  }
  ~JobBench() {
    disk.set_slow(false);
    uploads.held = false;
    table.reset();
    pool.reset();
    std::error_code ignored;
    std::filesystem::remove_all(folder, ignored);
  }
  JobBench(const JobBench&) = delete;

  JobParts parts() {
    JobParts parts;
    parts.models = &models;
    parts.limits = limits;
    parts.webhook_hosts = {"hooks.example.org"};
    parts.pool = pool.get();
    parts.io = io.get_executor();
    parts.store = &store;
    parts.uploads = &uploads;
    parts.observer = &notes;
    parts.recordings = folder;
    parts.recording = recordings_on(disk);
    parts.clock = {[this] { return 1e9 + now; }, [this] { return now; }};
    return parts;
  }
  Jobs& jobs() {
    if (!table) table = make_job_table(parts());
    return *table;
  }

  bool run_until(const std::function<bool()>& so) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(60);
    while (!so()) {
      if (std::chrono::steady_clock::now() > last) return false;
      io.restart();
      if (io.poll() == 0) std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
    return true;
  }
  template <class T>
  T run(Task<T> task) {
    std::optional<T> result;
    boost::asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& thrown, T value) {
      if (thrown) std::rethrow_exception(thrown);
      result = std::move(value);
    });
    EXPECT_TRUE(run_until([&] { return result.has_value(); }));
    return std::move(*result);
  }
  void run(Task<void> task) {
    bool done = false;
    boost::asio::co_spawn(io, std::move(task), [&](const std::exception_ptr& thrown) {
      if (thrown) std::rethrow_exception(thrown);
      done = true;
    });
    EXPECT_TRUE(run_until([&] { return done; }));
  }

  JobSpec spec(const std::string& prompt = "a tune", double seconds = 2.0) const {
    JobSpec spec;
    spec.family = "jobs";
    spec.model = "demo";
    spec.request.prompt = prompt;
    spec.request.seconds = seconds;
    spec.request.seed = 11;
    spec.client = "ip:127.0.0.1";
    return spec;
  }
  tl::expected<std::shared_ptr<Job>, Refusal> submit(JobSpec spec) { return run(jobs().submit(std::move(spec))); }
  std::shared_ptr<Job> accepted(JobSpec spec) {
    auto job = submit(std::move(spec));
    EXPECT_TRUE(job) << job.error().message;
    return job ? *job : nullptr;
  }
  /// Why it is not taken in: "reason: message"; "accepted".
  std::string refusal(JobSpec spec) {
    const auto job = submit(std::move(spec));
    return job ? "accepted" : job.error().reason + ": " + job.error().message;
  }
  bool until_over(const std::shared_ptr<Job>& job) {
    return run_until([&] { return job->ended().has_value(); });
  }
  std::string path_of(const JobTake& take) const { return folder + "/" + take.id + ".wav"; }
  std::string story(const Job& job) const {
    std::string names;
    for (const JobEvent& event : job.events()) names += (names.empty() ? "" : " ") + event.name;
    return names;
  }

  boost::asio::io_context io{1};
  std::unique_ptr<Pool> pool = std::make_unique<Pool>(2);
  FakeEngine engine, melody_engine{true};
  FakeModels models;
  MemoryStore store;
  MemoryDisk disk;
  FakeUploads uploads;
  Notes notes;
  Limits limits;
  std::string folder;
  double now = 100.0;
  std::unique_ptr<Jobs> table;

 private:
  static int& benches() {
    static int count = 0;
    return count;
  }
};

}  // namespace continuo::server
