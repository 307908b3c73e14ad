// Jobs on their way through the engine: events in, sound to the recordings, ends.
#include <utility>  // before Asio

#include <algorithm>
#include <boost/asio/co_spawn.hpp>

#include <nlohmann/json.hpp>

#include "engine/steady_level.h"
#include "server/jobs/job_json.h"
#include "server/jobs/table.h"

namespace continuo::server {

namespace {

constexpr double buffer_seconds = 10.0;  // what the engine makes ahead of a disk that does not keep up

}  // namespace

Task<std::optional<Error>> Table::enter(std::vector<Entry> entries) {
  struct Submission {
    engine::Engine* engine;
    engine::Request request;
    std::function<void()> notify;
  };
  auto submissions = std::make_shared<std::vector<Submission>>();
  for (const Entry& entry : entries) {
    const Models::Model* model = parts_.models->find(entry.job->spec().model);
    engine::Request request = entry.job->request;
    request.take += static_cast<int>(entry.take);
    if (request.buffer_seconds <= 0.0) request.buffer_seconds = buffer_seconds;
    // Called by the engine's thread for every event; one look here takes all that have come until then.
    const auto looking = std::make_shared<std::atomic<bool>>(false);
    auto notify = [this, looking, port = port_, weak = std::weak_ptr(entry.job), take = entry.take] {
      if (looking->exchange(true)) return;
      port->post([this, looking, weak, take] {
        looking->store(false);
        if (const Live job = weak.lock()) follow(job, take);
      });
    };
    submissions->push_back({model->engine, std::move(request), std::move(notify)});
  }
  using Submitted = Result<std::shared_ptr<engine::Job>>;
  auto submitting = [submissions] {
    std::vector<Submitted> all;
    for (Submission& each : *submissions) all.push_back(each.engine->submit(each.request, std::move(each.notify)));
    return all;
  };
  std::vector<Submitted> submitted = co_await parts_.pool->run(std::move(submitting));
  std::optional<Error> error;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const Entry& entry = entries[i];
    TakeRun& run = entry.job->runs[entry.take];
    if (!submitted[i]) {
      if (!error) error = submitted[i].error();
      fail_take(entry.job, entry.take, std::move(submitted[i]).error(), "engine");
      continue;
    }
    run.piece = std::move(*submitted[i]);
    run.stage = TakeRun::Stage::engine;
    if (entry.job->stop != LiveJob::Stop::none) run.piece->cancel();
    follow(entry.job, entry.take);
  }
  co_return error;
}

void Table::enter_later(std::vector<Entry> entries) {
  auto copies = entries;
  boost::asio::co_spawn(
      parts_.io, enter(std::move(entries)),
      [this, port = port_, copies = std::move(copies)](const std::exception_ptr& thrown, const auto&) {
        if (!thrown) return;
        for (const Entry& entry : copies) {
          if (entry.job->runs[entry.take].stage != TakeRun::Stage::entering) continue;
          fail_take(entry.job, entry.take, {ErrorCode::out_of_memory, "the server ran out of memory"}, "engine");
        }
      });
}

void Table::follow(const Live& job, std::size_t take) {
  TakeRun& run = job->runs[take];
  while (run.stage == TakeRun::Stage::engine) {
    // Who is being stopped is heard to the end, which is near.
    if (run.writer && run.writer->behind() && job->stop == LiveJob::Stop::none) return;
    auto event = run.piece->poll();
    if (!event) return;
    take_event(job, take, std::move(*event));
  }
}

void Table::take_event(const Live& job, std::size_t take, engine::Event event) {
  TakeRun& run = job->runs[take];
  const auto tell_eta = [&](double seconds) {
    run.eta = seconds;
    run.eta_at = parts_.clock.steady();
  };
  if (const auto* queued = std::get_if<engine::Queued>(&event)) {
    run.placed = true;
    run.place = queued->place;
    tell_eta(queued->eta_seconds);
    job->placed();
    moved_.set_all();
  } else if (const auto* started = std::get_if<engine::Started>(&event)) {
    run.started = true;
    job->own_takes()[take].state = JobState::running;
    begin_writing(job, take);
    const bool first = job->state() == JobState::queued;
    job->start(started->realtime);
    if (first) job->started_after = job->age();
    if (first && job->accepted) observer_.on_started(*job, *job->started_after);
    moved_.set_all();
  } else if (auto* audio = std::get_if<engine::Audio>(&event)) {
    if (run.writer) run.writer->write(std::move(audio->samples));
  } else if (const auto* made = std::get_if<engine::Made>(&event)) {
    tell_eta(made->eta_seconds);
    job->made(take, made->seconds);
  } else if (std::holds_alternative<engine::Finished>(event)) {
    run.piece.reset();
    run.stage = TakeRun::Stage::writing;
    run.writer->finish();
    give_back_rows(job, take);
  } else if (auto* failed = std::get_if<engine::Failed>(&event)) {
    fail_take(job, take, std::move(failed->error), "engine");
  }
}

void Table::begin_writing(const Live& job, std::size_t take) {
  TakeWriter::Place place{path_of(job->takes()[take].id), job->shape, job->load_given};
  const engine::Request& request = job->spec().request;
  const Models::Model* model = parts_.models->find(job->spec().model);
  if (model != nullptr && model->engine != nullptr && engine::needs_windows(request, model->engine->config())) {
    place.level.emplace();
    place.level->ceiling_db = 0.0;
    engine::keep_level_of(request, 0.0, *place.level);
  }
  job->runs[take].writer =
      TakeWriter::start(parts_.recording, std::move(place), *parts_.pool, port_, [this, weak = std::weak_ptr(job), take] {
        if (const Live still = weak.lock()) written(still, take);
      });
}

void Table::written(const Live& job, std::size_t take) {
  TakeRun& run = job->runs[take];
  if (run.stage == TakeRun::Stage::ended) return;
  JobTake& shown = job->own_takes()[take];
  shown.recording = run.writer->recording();
  if (!job->heard && shown.recording && shown.recording->frames() > 0) {
    job->heard = true;
    job->heard_after = job->age();
    if (job->accepted) observer_.on_first_audio(*job, *job->heard_after);
  }
  if (run.writer->error() && run.stage == TakeRun::Stage::engine) {
    fail_take(job, take, *run.writer->error(), "disk");
  } else if (run.writer->done()) {
    if (run.writer->error() && !run.failure) {
      run.failure = run.writer->error();
      run.reason = "disk";
    }
    const bool by_wish = run.failure && run.failure->code == ErrorCode::cancelled && job->stop != LiveJob::Stop::none;
    end_take(job, take, !run.failure ? JobState::finished : by_wish ? JobState::cancelled : JobState::failed);
  } else {
    follow(job, take);
  }
  job->changed().set_all();
}

void Table::fail_take(const Live& job, std::size_t take, Error error, std::string reason) {
  TakeRun& run = job->runs[take];
  if (run.stage == TakeRun::Stage::ended) return;
  run.piece.reset();
  run.failure = std::move(error);
  run.reason = std::move(reason);
  if (run.writer) {
    run.stage = TakeRun::Stage::writing;
    run.writer->fail(*run.failure);
  } else {
    const bool by_wish = run.failure->code == ErrorCode::cancelled && job->stop != LiveJob::Stop::none;
    end_take(job, take, by_wish ? JobState::cancelled : JobState::failed);
  }
  give_back_rows(job, take);
}

void Table::end_take(const Live& job, std::size_t take, JobState state) {
  job->end_take(take, state);
  if (state == JobState::finished && job->spec().keep && !job->withdrawn) keep_take(job, take);
  const bool all =
      std::all_of(job->runs.begin(), job->runs.end(), [](const TakeRun& run) { return run.stage == TakeRun::Stage::ended; });
  if (all && !job->over()) end_job(job);
}

void Table::keep_take(const Live& job, std::size_t take) {
  KeptTake kept{job->takes()[take].id, job->id(), job->spec(), path_of(job->takes()[take].id), job->shape, job->created()};
  kept.spec.request.take += static_cast<int>(take);
  on_store(
      [store = parts_.store, kept = std::move(kept), unsaved = job->unsaved] {
        Status status = store->add_take(kept);
        if (!status) *unsaved = true;
        return status;
      },
      "a take could not be put into the library; the next start tries again");
}

void Table::end_job(const Live& job) {
  const auto count = [&](JobState state) {
    return std::count_if(job->takes().begin(), job->takes().end(), [&](const JobTake& take) { return take.state == state; });
  };
  JobState state = JobState::finished;
  std::optional<Error> error;
  std::string reason = "finished";
  if (count(JobState::cancelled) > 0 && job->stop == LiveJob::Stop::stopping) {
    state = JobState::failed;
    reason = "stopping";
    error = Error{ErrorCode::cancelled, job->recorded ? "the server is stopping; it goes on with this job when it starts again"
                                                      : "the server is stopping; the piece was not finished"};
  } else if (count(JobState::cancelled) > 0) {
    state = JobState::cancelled;
    reason = "cancelled";
  } else if (count(JobState::failed) > 0) {
    state = JobState::failed;
    const auto run = std::find_if(job->runs.begin(), job->runs.end(), [](const TakeRun& each) { return each.failure; });
    if (run != job->runs.end()) {
      error = run->failure;
      reason = run->reason;
    }
  }
  const Live kept = job;  // the lists below may hold the last of it
  const bool resumes = reason == "stopping" && job->recorded;
  if (!resumes) {
    if (job->stop == LiveJob::Stop::stopping) job->stop = LiveJob::Stop::none;
    for (const std::string& upload : job->pinned) parts_.uploads->unpin(upload);
    job->pinned.clear();
  }
  job->end(state, error);
  std::erase(active_, kept);
  if (job->recorded && !resumes) {
    on_store([store = parts_.store, id = job->id(), unsaved = job->unsaved] { return *unsaved ? Status() : store->remove(id); },
             "the record of an ended job could not be removed");
  }
  job->reason = std::move(reason);
  if (job->withdrawn) {
    for (const JobTake& take : job->takes()) store_lane_->post([path = path_of(take.id)] { std::remove(path.c_str()); });
  }
  if (job->accepted) tell_end(job);
  moved_.set_all();
}

void Table::tell_end(const Live& job) {
  observer_.on_ended(*job, job->reason, job->age_at_end(), job->made_seconds());
  const bool resumes = stays_recorded(*job);
  if (!job->spec().webhook.empty() && parts_.webhooks != nullptr && !resumes) {
    parts_.webhooks->send(job->spec().webhook, job_json(*job).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace));
  }
  sweep();
  sweep_later();
}

void Table::stop(const Live& job, LiveJob::Stop why) {
  if (job->over() || job->stop != LiveJob::Stop::none) return;
  job->stop = why;
  const Error error{ErrorCode::cancelled, "cancelled"};
  for (std::size_t i = 0; i < job->runs.size(); ++i) {
    TakeRun& run = job->runs[i];
    if (run.stage == TakeRun::Stage::preparing || run.stage == TakeRun::Stage::held) {
      std::erase_if(held_, [&](const Entry& entry) { return entry.job == job && entry.take == i; });
      fail_take(job, i, error, "cancelled");
    } else if (run.stage == TakeRun::Stage::engine) {
      run.piece->cancel();
      follow(job, i);  // also what a slow disk had held up
    }
  }
  tell_held();
}

}  // namespace continuo::server
