// Taking jobs in: what is wrong with a request, whether there is room, and the record that outlives the process.
#include <utility>  // before Asio

#include <algorithm>
#include <boost/asio/co_spawn.hpp>
#include <cmath>

#include "audio/chroma.h"
#include "engine/given_sound.h"
#include "server/jobs/ids.h"
#include "server/jobs/table.h"
#include "server/requests/music_request.h"

namespace continuo::server {

namespace {

constexpr auto look_again = std::chrono::milliseconds(5);
constexpr int most_looks = 1000;  // 5 s; an engine says within a step

Refusal invalid(std::string reason, std::string message) {
  return {Refusal::Kind::invalid, std::move(message), 0.0, std::move(reason)};
}

Refusal is_stopping() {
  return {Refusal::Kind::stopping, "the server is stopping; send the request to another one, or again in a moment", 0.0,
          "stopping"};
}

/// What the uploads of a job come to.
struct Prepared {
  std::vector<std::int64_t> codes;
  int frames = 0;
  std::vector<int> melody;
};

/// Frames of the codec that the end of a sound of so many seconds is continued for.
int continued_frames(const JobSpec& spec, double seconds, const weights::ModelConfig& config) {
  return static_cast<int>(
      std::floor(std::min(spec.continue_seconds.value_or(seconds), seconds) * config.codec.frame_rate() + 1e-6));
}

Status check_continued(int frames, const JobSpec& spec, const weights::ModelConfig& config) {
  const auto& segments = spec.request.segments;
  const double whole = segments.empty() ? spec.request.seconds : segments.front().seconds;
  if (frames < 1) {
    return fail(ErrorCode::invalid_argument, "what is to be continued is shorter than one frame, {:g} s",
                1.0 / config.codec.frame_rate());
  }
  if (frames >= engine::frame_count(whole, config)) {
    return fail(ErrorCode::invalid_argument,
                "{:.2f} s are to be continued, but {} lasts only {:g} s, what is continued included; ask for more, or continue "
                "less of it (\"last\")",
                frames / config.codec.frame_rate(), segments.empty() ? "the piece" : "the first segment", whole);
  }
  return {};
}

/// The end of the sound that is continued, as the model hears it: whole frames. What does not fill one is dropped at the
/// beginning, so that the sound goes on exactly where it ends.
Result<GivenSamples> continued_samples(const JobSpec& spec, UploadedSounds& uploads, const weights::ModelConfig& config) {
  CONTINUO_TRY(audio::Sound sound, uploads.sound(spec.continue_upload));
  CONTINUO_TRY(sound, engine::sound_for(std::move(sound), config));
  const int frames = continued_frames(spec, static_cast<double>(sound.frames()) / sound.sample_rate, config);
  CONTINUO_CHECK(check_continued(frames, spec, config));
  const std::int64_t used = std::int64_t{frames} * config.codec.hop() * sound.channels;
  sound.samples.erase(sound.samples.begin(), sound.samples.end() - used);
  return std::make_shared<const std::vector<float>>(std::move(sound.samples));
}

Result<Prepared> prepared(const JobSpec& spec, UploadedSounds& uploads, engine::Engine& engine) {
  const weights::ModelConfig& config = engine.config();
  Prepared result;
  if (!spec.melody_upload.empty()) {
    CONTINUO_TRY(audio::Sound sound, uploads.sound(spec.melody_upload));
    // A second more than is listened to, because the resampler looks a little ahead.
    const std::size_t heard = (audio::max_melody_seconds + 1) * static_cast<std::size_t>(sound.sample_rate * sound.channels);
    if (sound.samples.size() > heard) sound.samples.resize(heard);
    CONTINUO_TRY(result.melody, engine::melody_of(std::move(sound), config));
  }
  if (spec.continue_upload.empty()) return result;
  CONTINUO_TRY(const GivenSamples given, continued_samples(spec, uploads, config));
  result.frames = static_cast<int>(given->size() / static_cast<std::size_t>(config.codec.hop() * config.decoder.audio_channels));
  CONTINUO_TRY(result.codes, engine.encode_audio(*given));
  return result;
}

}  // namespace

Refusal Table::rejected(Refusal refusal) const {
  observer_.on_rejected(refusal.reason);
  return refusal;
}

std::optional<Refusal> Table::check(const JobSpec& spec) const {
  const Limits& limits = parts_.limits;
  const Models::Model* model = parts_.models->find(spec.model);
  if (model == nullptr) return invalid("model", fmt::format("there is no model '{}' here", spec.model));
  if (model->engine == nullptr) {
    return Refusal{Refusal::Kind::unavailable, fmt::format("the model {} is still being loaded", spec.model), 1.0, "loading"};
  }
  const engine::Request& request = spec.request;
  if (request.endless) return invalid("endless", "a job has an end; endless music is made on /v1/live");
  if (spec.takes < 1 || spec.takes > limits.takes) {
    return invalid("takes", fmt::format("{} takes are asked for; from 1 to {} are possible", spec.takes, limits.takes));
  }
  if (request.segments.size() > static_cast<std::size_t>(limits.segments)) {
    return invalid("segments",
                   fmt::format("{} segments are more than the {} that are possible", request.segments.size(), limits.segments));
  }
  if (const double seconds = engine::request_seconds(request); seconds > limits.seconds) {
    return invalid("seconds", fmt::format("{:g} s are more than the {:g} s that this server makes", seconds, limits.seconds));
  }
  std::size_t prompt = request.prompt.size();
  for (const engine::Segment& segment : request.segments) prompt = std::max(prompt, segment.prompt.size());
  if (prompt > limits.prompt_bytes) {
    return invalid("prompt", fmt::format("the prompt has {} bytes; at most {} are accepted", prompt, limits.prompt_bytes));
  }
  const weights::ModelConfig& config = model->engine->config();
  if (!spec.melody_upload.empty() && !config.is_melody()) {
    return invalid("melody", fmt::format("the model {} cannot follow a melody; use a melody model for that", spec.model));
  }
  if (const Status status = engine::validate(request, config); !status) return invalid("invalid", status.error().message);
  if (limits.rows > 0 && rows_of(spec) > limits.rows) {
    return invalid("does_not_fit", fmt::format("a piece with guidance needs {} rows, and this server runs {}; ask for "
                                               "guidance_scale 1",
                                               rows_of(spec), limits.rows));
  }
  if (!spec.webhook.empty()) {
    if (const auto allowed = check_webhook(spec.webhook, parts_.webhook_hosts); !allowed)
      return invalid("webhook", allowed.error().message);
  }
  return std::nullopt;
}

Table::Line Table::line() const {
  Line line;
  for (const Live& job : active_) {
    for (const TakeRun& run : job->runs) {
      line.waiting += run.waits() ? 1 : 0;
      line.unsettled += run.unsettled() ? 1 : 0;
    }
  }
  return line;
}

Refusal Table::full(int pieces) const {
  // So many have to leave the line. One leaves whenever any of those before it, running or waiting, has ended.
  const int leaving = std::max(1, line().waiting + pieces - parts_.limits.queue);
  std::vector<double> ends;
  const double now = parts_.clock.steady();
  for (const Live& job : active_) {
    for (const TakeRun& run : job->runs) {
      if (run.stage != TakeRun::Stage::ended && run.eta) ends.push_back(run.remaining(now));
    }
  }
  std::sort(ends.begin(), ends.end());
  double seconds = 1.0;
  if (!ends.empty()) seconds = std::max(1.0, ends[std::min(ends.size(), static_cast<std::size_t>(leaving)) - 1]);
  return {Refusal::Kind::queue_full,
          fmt::format("queue full: {} pieces wait, and at most {} may; try again in {:.0f} s", line().waiting,
                      parts_.limits.queue, std::ceil(seconds)),
          seconds, "queue_full"};
}

Task<std::optional<Refusal>> Table::room(int pieces, bool& tentative) {
  Wake wake(parts_.io);
  moved_.add(wake);
  for (int looks = 0;; ++looks) {
    if (stopping_) co_return is_stopping();
    const Line now = line();
    if (now.waiting + now.unsettled + pieces <= parts_.limits.queue) co_return std::nullopt;
    if (now.unsettled == 0 || looks == most_looks) {
      // Who waits already goes first; with an empty line some of these may run at once, and only the engine knows how many.
      if (now.waiting > 0) co_return full(pieces);
      tentative = true;
      co_return std::nullopt;
    }
    co_await wake.wait(look_again);
  }
}

Task<void> Table::settle() {
  Wake wake(parts_.io);
  moved_.add(wake);
  for (int looks = 0; looks < most_looks && line().unsettled > 0; ++looks) co_await wake.wait(look_again);
}

void Table::shape(LiveJob& job) const {
  const weights::ModelConfig& config = parts_.models->find(job.spec().model)->engine->config();
  job.rows = rows_of(job.spec());
  job.frames = engine::frame_count(job.whole_seconds(), config);
  job.shape.channels = config.decoder.audio_channels;
  job.shape.sample_rate = config.codec.sample_rate;
  job.shape.frames = static_cast<std::int64_t>(job.frames) * config.codec.hop();
}

tl::expected<Table::Live, Refusal> Table::make(JobSpec spec) {
  std::vector<std::string> takes;
  for (int i = 0; i < spec.takes; ++i) takes.push_back(new_id("take-"));
  auto job = std::make_shared<LiveJob>(new_id("job-"), std::move(spec), std::move(takes), parts_.clock.wall(), parts_.clock, 1);
  shape(*job);
  if (auto refusal = pin(*job)) {
    for (const std::string& upload : job->pinned) parts_.uploads->unpin(upload);
    return tl::unexpected(std::move(*refusal));
  }
  return job;
}

std::optional<Refusal> Table::pin(LiveJob& job) {
  const JobSpec& spec = job.spec();
  std::optional<double> continued;
  for (const std::string* upload : {&spec.continue_upload, &spec.melody_upload}) {
    if (upload->empty()) continue;
    const auto seconds = parts_.uploads != nullptr ? parts_.uploads->pin(*upload) : std::nullopt;
    if (!seconds) return invalid("upload", fmt::format("there is no upload '{}' (any more); send the sound again", *upload));
    job.pinned.push_back(*upload);
    if (upload == &spec.continue_upload) continued = *seconds;
  }
  return check_uploads(job, continued);
}

std::optional<Refusal> Table::check_uploads(const LiveJob& job, std::optional<double> continued) const {
  if (!continued) return std::nullopt;
  const weights::ModelConfig& config = parts_.models->find(job.spec().model)->engine->config();
  if (Status status = check_continued(continued_frames(job.spec(), *continued, config), job.spec(), config); !status)
    return invalid("upload", status.error().message);
  return std::nullopt;
}

Task<Status> Table::record(std::vector<Live> jobs) {
  std::vector<JobRecord> records;
  for (const Live& job : jobs) {
    if (job->spec().streamed) continue;
    records.push_back({job->id(), write_record(job->spec(), job->takes()), job->created()});
    job->recorded = true;  // perhaps; removing one that is not there is no error
  }
  if (records.empty()) co_return Status();
  auto writing = [store = parts_.store, records]() -> Status {
    for (const JobRecord& each : records) CONTINUO_CHECK(store->record(each));
    return {};
  };
  Status status = co_await parts_.pool->run(std::move(writing));
  co_return status;
}

void Table::withdraw(const std::vector<Live>& jobs) {
  for (const Live& job : jobs) {
    job->withdrawn = true;
    stop(job, LiveJob::Stop::cancelled);
  }
}

void Table::accept(const Live& job) {
  job->accepted = true;
  insert(job);
  observer_.on_submitted(*job);
  // What happened before it was accepted.
  if (job->started_after) observer_.on_started(*job, *job->started_after);
  if (job->heard_after) observer_.on_first_audio(*job, *job->heard_after);
  if (job->over()) tell_end(job);
}

Task<std::optional<Error>> Table::set_out(std::vector<Live> jobs) {
  std::vector<Entry> entries;
  for (const Live& job : jobs) {
    job->placed();
    if (!job->pinned.empty()) {
      boost::asio::co_spawn(parts_.io, prepare(job), [this, job](const std::exception_ptr& thrown) {
        if (!thrown) return;
        for (std::size_t i = 0; i < job->runs.size(); ++i) {
          const auto stage = job->runs[i].stage;
          if (stage == TakeRun::Stage::preparing || stage == TakeRun::Stage::entering)
            fail_take(job, i, {ErrorCode::out_of_memory, "the server ran out of memory"}, "engine");
        }
      });
      continue;
    }
    for (std::size_t i = 0; i < job->runs.size(); ++i) {
      if (job->runs[i].stage == TakeRun::Stage::preparing) entries.push_back({job, i});
    }
  }
  std::optional<Error> error;
  if (auto through = passed(entries); !through.empty()) error = co_await enter(std::move(through));
  co_return error;
}

Task<void> Table::prepare(Live job) {
  engine::Engine* engine = parts_.models->find(job->spec().model)->engine;
  auto reading = [spec = job->spec(), uploads = parts_.uploads, engine]() -> Result<Prepared> {
    return prepared(spec, *uploads, *engine);
  };
  auto made = co_await parts_.pool->run(std::move(reading));
  std::vector<Entry> entries;
  for (std::size_t i = 0; i < job->runs.size(); ++i) {
    if (job->runs[i].stage == TakeRun::Stage::preparing) entries.push_back({job, i});
  }
  if (!made) {
    for (const Entry& entry : entries) fail_take(job, entry.take, made.error(), "upload");
    co_return;
  }
  job->request.prompt_codes = std::move(made->codes);
  job->request.prompt_frames = made->frames;
  job->request.melody = std::move(made->melody);
  if (made->frames > 0) {
    // Read again when a take begins, so that those who wait hold no sound.
    job->load_given = [spec = job->spec(), uploads = parts_.uploads, &config = engine->config()] {
      return continued_samples(spec, *uploads, config);
    };
  }
  if (auto through = passed(entries); !through.empty()) co_await enter(std::move(through));
}

Task<tl::expected<std::vector<std::shared_ptr<Job>>, Refusal>> Table::submit_all(std::vector<JobSpec> specs) {
  int pieces = 0;
  for (const JobSpec& spec : specs) {
    if (stopping_) co_return tl::unexpected(rejected(is_stopping()));
    if (auto refusal = check(spec)) co_return tl::unexpected(rejected(std::move(*refusal)));
    pieces += spec.takes;
  }
  bool tentative = false;
  if (auto refusal = co_await room(pieces, tentative)) co_return tl::unexpected(rejected(std::move(*refusal)));
  std::vector<Live> jobs;
  for (JobSpec& spec : specs) {
    auto job = make(std::move(spec));
    if (!job) {
      withdraw(jobs);
      co_return tl::unexpected(rejected(std::move(job).error()));
    }
    jobs.push_back(*job);
    active_.push_back(std::move(*job));
  }
  if (const Status status = co_await record(jobs); !status) {
    withdraw(jobs);
    trouble("a job could not be recorded: " + status.error().message);
    co_return tl::unexpected(rejected(
        {Refusal::Kind::unavailable, "the server cannot write down the job, so it does not take it in", 10.0, "record"}));
  }
  if (stopping_) {
    withdraw(jobs);
    co_return tl::unexpected(rejected(is_stopping()));
  }
  const std::optional<Error> error = co_await set_out(jobs);
  if (error) {
    withdraw(jobs);
    const bool closed = error->code == ErrorCode::cancelled;
    co_return tl::unexpected(rejected({closed ? Refusal::Kind::stopping : Refusal::Kind::invalid, error->message, 0.0,
                                       closed                                    ? "stopping"
                                       : error->code == ErrorCode::out_of_memory ? "does_not_fit"
                                                                                 : "invalid"}));
  }
  if (tentative) {
    co_await settle();
    if (line().waiting > parts_.limits.queue) {
      Refusal refusal = full(0);
      withdraw(jobs);
      co_return tl::unexpected(rejected(std::move(refusal)));
    }
  }
  std::vector<std::shared_ptr<Job>> all;
  for (const Live& job : jobs) {
    accept(job);
    all.push_back(job);
  }
  co_return all;
}

Task<tl::expected<std::shared_ptr<Job>, Refusal>> Table::submit(JobSpec spec) {
  std::vector<JobSpec> one;
  one.push_back(std::move(spec));
  auto jobs = co_await submit_all(std::move(one));
  if (!jobs) co_return tl::unexpected(std::move(jobs).error());
  co_return jobs->front();
}

}  // namespace continuo::server
