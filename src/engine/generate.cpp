// Requests from beginning to end on the caller's thread: submitted together, waited for together.
#include <algorithm>

#include "engine/local_engine.h"

namespace continuo::engine {

namespace {

/// What has come of one request.
struct Waiting {
  std::shared_ptr<Job> job;
  Clip clip;
  double made = 0.0;
  bool started = false;
  bool ended = false;
};

/// Wakes the waiting thread when any job has news.
struct Bell {
  std::mutex mutex;
  std::condition_variable rung;
  bool news = false;

  void ring() {
    {
      const std::lock_guard lock(mutex);
      news = true;
    }
    rung.notify_one();
  }
  void wait() {
    std::unique_lock lock(mutex);
    rung.wait_for(lock, std::chrono::milliseconds(50), [&] { return news; });  // now and then `cancelled` is asked
    news = false;
  }
};

Status take(Waiting& waiting, Event event) {
  if (std::holds_alternative<Started>(event)) waiting.started = true;
  if (const auto* made = std::get_if<Made>(&event)) waiting.made = std::max(waiting.made, made->seconds);
  if (auto* audio = std::get_if<Audio>(&event)) {
    waiting.clip.audio.insert(waiting.clip.audio.end(), audio->samples.begin(), audio->samples.end());
  }
  if (auto* finished = std::get_if<Finished>(&event)) {
    waiting.ended = true;
    waiting.clip.codes = std::move(finished->codes);
    waiting.clip.frames = finished->frames;
  }
  if (auto* failed = std::get_if<Failed>(&event)) return forward_error(std::move(failed->error));
  return {};
}

}  // namespace

Result<std::vector<Clip>> LocalEngine::generate(std::span<const Request> requests,
                                                const std::function<void(const Progress&)>& progress,
                                                const std::function<bool()>& cancelled) {
  if (std::this_thread::get_id() == thread_.get_id()) {
    return fail(ErrorCode::invalid_argument, "a job's notification cannot wait for whole clips; submit them instead");
  }
  for (const Request& request : requests) CONTINUO_CHECK(validate(request, config()));
  Timing before;
  on_thread([&] { before = timing_; });
  const auto bell = std::make_shared<Bell>();  // jobs may ring once more after this function has ended
  Progress told;
  std::vector<Waiting> all;
  for (const Request& request : requests) {
    Waiting waiting;
    CONTINUO_TRY(waiting.job, submit(request, [bell] { bell->ring(); }));
    waiting.clip.codebooks = config().decoder.codebooks;
    waiting.clip.channels = config().decoder.audio_channels;
    waiting.clip.sample_rate = config().codec.sample_rate;
    waiting.clip.audio.reserve(static_cast<std::size_t>(samples_of(frame_count(request_seconds(request), config()))) *
                               static_cast<std::size_t>(waiting.clip.channels));
    told.audio_seconds_total += request_seconds(request);
    all.push_back(std::move(waiting));
  }
  const auto tell = [&] {
    told.stage = Stage::codec;
    told.audio_seconds = 0.0;
    for (const Waiting& waiting : all) {
      if (!waiting.ended) told.stage = waiting.started ? std::min(told.stage, Stage::decoder) : Stage::text;
      if (!waiting.ended && !waiting.started) break;
    }
    for (const Waiting& waiting : all) {
      const double heard = static_cast<double>(waiting.clip.audio.size()) / waiting.clip.channels / waiting.clip.sample_rate;
      told.audio_seconds += std::max(waiting.made, heard);
    }
    if (progress) progress(told);
  };
  tell();
  while (std::any_of(all.begin(), all.end(), [](const Waiting& waiting) { return !waiting.ended; })) {
    if (cancelled && cancelled()) return fail(ErrorCode::cancelled, "interrupted");
    bool news = false;
    for (Waiting& waiting : all) {
      while (auto event = waiting.job->poll()) {
        news = true;
        CONTINUO_CHECK(take(waiting, std::move(*event)));
      }
    }
    if (news) {
      tell();
    } else {
      bell->wait();
    }
  }
  on_thread([&] {
    const std::lock_guard lock(mutex_);
    last_timing_ = {timing_.text_seconds - before.text_seconds, timing_.decoder_seconds - before.decoder_seconds,
                    timing_.codec_seconds - before.codec_seconds};
  });
  std::vector<Clip> clips;
  for (Waiting& waiting : all) clips.push_back(std::move(waiting.clip));
  return clips;
}

}  // namespace continuo::engine
