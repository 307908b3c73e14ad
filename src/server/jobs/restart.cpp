// What an earlier process left, and the end of this one.
#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "server/jobs/table.h"

namespace continuo::server {

namespace {

constexpr double patience = 10.0;  // seconds for engines and disks to end what was cancelled

using Json = nlohmann::ordered_json;

}  // namespace

std::string write_record(const JobSpec& spec, const std::vector<JobTake>& takes) {
  Json ids = Json::array();
  for (const JobTake& take : takes) ids.push_back(take.id);
  return Json{{"spec", Json::parse(write_spec(spec))}, {"takes", ids}}.dump();
}

Result<ReadRecord> read_record(const std::string& text) {
  const auto refused = [] { return fail(ErrorCode::corrupt_file, "the record of a job cannot be read"); };
  const Json json = Json::parse(text, nullptr, false);
  if (!json.is_object() || json.size() != 2 || !json.contains("spec") || !json.contains("takes")) return refused();
  ReadRecord record;
  CONTINUO_TRY(record.spec, read_spec(json["spec"].dump()));
  if (!json["takes"].is_array() || json["takes"].size() != static_cast<std::size_t>(std::max(0, record.spec.takes)))
    return refused();
  for (const Json& take : json["takes"]) {
    // It becomes the name of a file.
    const auto harmless = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; };
    if (!take.is_string()) return refused();
    record.takes.push_back(take.get<std::string>());
    if (record.takes.back().empty() || !std::all_of(record.takes.back().begin(), record.takes.back().end(), harmless))
      return refused();
  }
  if (record.takes.empty()) return refused();
  return record;
}

Task<void> Table::resume() {
  auto reading = [store = parts_.store] { return store->unfinished(); };
  auto records = co_await parts_.pool->run(std::move(reading));
  if (!records) {
    // Nothing is deleted either: what belongs to whom is not known.
    trouble("unfinished jobs could not be read: " + records.error().message);
    co_return;
  }
  for (JobRecord& record : *records) co_await resume_one(std::move(record));
  if (parts_.uploads != nullptr) parts_.uploads->settle();
  co_await delete_orphans();
}

Task<void> Table::resume_one(JobRecord record) {
  const double age = std::max(0.0, parts_.clock.wall() - record.created);
  // Readers that come back go on behind the lines that they know: there were at most a few a second.
  const auto first = 1000 + static_cast<std::int64_t>(10.0 * age);
  auto read = read_record(record.text);
  std::optional<Error> lost;
  if (!read) {
    lost = read.error();
    read = ReadRecord{JobSpec(), {"none"}};
  }
  auto job =
      std::make_shared<LiveJob>(record.id, std::move(read->spec), std::move(read->takes), record.created, parts_.clock, first);
  job->recorded = job->accepted = true;
  active_.push_back(job);
  insert(job);
  if (!lost && record.tries > most_tries) {
    lost = Error{ErrorCode::unsupported,
                 fmt::format("the server ended {} times while it made this piece, so it is not tried again", most_tries)};
  }
  if (!lost) {
    const JobSpec& spec = job->spec();
    const Models::Model* model = parts_.models->find(spec.model);
    if (model == nullptr || model->engine == nullptr) {
      lost = Error{ErrorCode::not_found,
                   fmt::format("the server was restarted without the model {}, so this piece cannot be finished", spec.model)};
    } else if (const Status status = engine::validate(spec.request, model->engine->config()); !status || spec.request.endless) {
      lost =
          Error{ErrorCode::unsupported,
                fmt::format("the server was restarted with another model called {}, which cannot make this piece", spec.model)};
    } else if (parts_.limits.rows > 0 && rows_of(spec) > parts_.limits.rows) {
      lost = Error{ErrorCode::unsupported, "the server was restarted with fewer rows than this piece needs"};
    } else {
      shape(*job);
      if (auto refusal = pin(*job)) lost = Error{ErrorCode::not_found, refusal->message};
    }
  }
  observer_.on_submitted(*job);
  if (lost) {
    for (std::size_t i = 0; i < job->runs.size(); ++i) fail_take(job, i, *lost, "lost");
    co_return;
  }
  std::vector<std::string> paths;
  for (const JobTake& take : job->takes()) paths.push_back(path_of(take.id));
  auto opening = [paths, open = parts_.recording.open, shape = job->shape] {
    std::vector<std::shared_ptr<Recording>> all;
    for (const std::string& path : paths) {
      auto recording = open(path);
      const bool same = recording && (*recording)->shape().frames == shape.frames &&
                        (*recording)->shape().channels == shape.channels &&
                        (*recording)->shape().sample_rate == shape.sample_rate;
      all.push_back(same ? *recording : nullptr);
    }
    return all;
  };
  const auto recordings = co_await parts_.pool->run(std::move(opening));
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (!recordings[i] || job->runs[i].stage == TakeRun::Stage::ended) continue;
    job->own_takes()[i].recording = recordings[i];
    job->heard = true;
    end_take(job, i, JobState::finished);
  }
  if (job->over()) co_return;
  // What does not fit any more fails as a take, with the engine's word for it.
  std::vector<Live> one{job};
  co_await set_out(std::move(one));
}

Task<void> Table::delete_orphans() {
  std::set<std::string> known;
  for (const Live& job : order_) {
    for (const JobTake& take : job->takes()) known.insert(take.id);
  }
  auto deleting = [folder = parts_.recordings, store = parts_.store, known] {
    std::vector<std::string> found;
    std::error_code error;
    for (std::filesystem::directory_iterator file(folder, error), end; !error && file != end; file.increment(error)) {
      const std::filesystem::path& path = file->path();
      if (path.extension() != ".wav" || !path.stem().string().starts_with("take-") || known.contains(path.stem().string()))
        continue;
      const auto has = store->has_take(path.stem().string());
      std::error_code ignored;
      if (has && !*has) std::filesystem::remove(path, ignored);
      if (!has) found.push_back("whether a recording is still needed is not known: " + has.error().message);
    }
    return found;
  };
  std::vector<std::string> troubles = co_await parts_.pool->run(std::move(deleting));
  for (const std::string& each : troubles) trouble(each);
}

Task<void> Table::drain(double grace_seconds) {
  stopping_ = true;
  Wake wake(parts_.io);
  moved_.add(wake);
  const auto wait_until = [&](double deadline) {
    return wake.wait(std::chrono::milliseconds(std::lround(1e3 * std::clamp(deadline - parts_.clock.steady(), 0.0, 0.1))));
  };
  const double grace = parts_.clock.steady() + grace_seconds;
  while (!active_.empty() && parts_.clock.steady() < grace) co_await wait_until(grace);
  const std::vector<Live> rest = active_;
  for (const Live& job : rest) stop(job, LiveJob::Stop::stopping);
  const double last = parts_.clock.steady() + patience;
  while ((!active_.empty() || storing_ > 0) && parts_.clock.steady() < last) co_await wait_until(last);
}

}  // namespace continuo::server
