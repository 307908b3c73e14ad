// From frames to sound: the codec, joints between parts, chunks for the reader.
#include <algorithm>

#include "engine/codec_turns.h"
#include "engine/local_engine.h"

namespace continuo::engine {

namespace {

constexpr int closing_frames = 4;  // what the codec still holds at the end of a part

}  // namespace

int LocalEngine::codec_share(const Work& work, bool alone) const {
  const int chunk = std::max(1, frame_count(work.request.chunk_seconds, config()));
  return alone ? std::max(chunk, shared_frames) : shared_frames;
}

std::vector<JobId> LocalEngine::codec_line(bool alone) {
  std::vector<CodecDue> due;
  for (auto& [id, work] : works_) {
    if (work->piece == nullptr || work->shared->outbox.ended()) continue;
    const int chunk = std::max(1, frame_count(work->request.chunk_seconds, config()));
    const int share = codec_share(*work, alone), complete = work->piece->complete_frames() - work->pushed;
    const bool closes = work->piece->done() && complete <= share;
    if (!closes && complete < std::min(share, chunk)) continue;
    CodecDue each{id, std::min(complete, share) + (closes ? closing_frames : 0), complete};
    each.first = !work->first_sound;
    each.dry_in = dry_in(*work);
    each.waited = work->codec_waited++;
    due.push_back(each);
  }
  std::vector<JobId> go = codec_turn(due, static_cast<int>(works_.size() - admission_.size()));
  for (const JobId id : go) works_.at(id)->codec_waited = 0;
  return go;
}

Status LocalEngine::push_codec(Work& work, int most_frames) {
  Stopwatch watch;
  const int count = std::min(most_frames, work.piece->complete_frames() - work.pushed);
  CONTINUO_TRY(std::vector<float> samples, work.stream->push(work.piece->codes(work.pushed, count), count));
  work.pushed += count;
  if (work.request.endless) work.piece->forget_before(work.pushed);
  const double seconds = watch.seconds();
  times_.codec(count, seconds);
  work.timing.codec_seconds += seconds;
  timing_.codec_seconds += seconds;
  samples = work.joiner.push(std::move(samples));
  work.pending.insert(work.pending.end(), samples.begin(), samples.end());
  send(work, false);
  return {};
}

void LocalEngine::send(Work& work, bool all) {
  const auto channels = static_cast<std::size_t>(config().decoder.audio_channels);
  const auto chunk =
      static_cast<std::size_t>(std::max(1, samples_of(frame_count(work.request.chunk_seconds, config())))) * channels;
  while (!work.pending.empty() && (all || work.pending.size() >= chunk)) {
    const std::size_t count = std::min(chunk, work.pending.size());
    Audio audio{{work.pending.begin(), work.pending.begin() + static_cast<std::ptrdiff_t>(count)}, work.sent};
    work.pending.erase(work.pending.begin(), work.pending.begin() + static_cast<std::ptrdiff_t>(count));
    work.sent += static_cast<std::int64_t>(count / channels);
    work.shared->outbox.put(std::move(audio));
    if (!work.first_sound) work.first_sound = Clock::now();
  }
}

Status LocalEngine::finish_part(Work& work) {
  Stopwatch watch;
  std::vector<float> samples = work.joiner.push(work.stream->finish());
  work.timing.codec_seconds += watch.seconds();
  timing_.codec_seconds += watch.seconds();
  work.pending.insert(work.pending.end(), samples.begin(), samples.end());
  ++work.part;
  send(work, work.part == work.parts.size());
  if (work.part == work.parts.size()) return {};
  work.piece->release();
  work.told_frames = 0;
  return begin_part(work);
}

}  // namespace continuo::engine
