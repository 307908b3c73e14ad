#include "cli/stream.h"

#include <algorithm>

#include "audio/splice.h"
#include "cli/interrupt.h"

namespace continuo::cli {

namespace {

constexpr double chunk_seconds = 0.2;
constexpr double buffer_seconds = 5.0;  // made ahead of a slow reader
constexpr double patience = 0.1;        // seconds between two looks at Ctrl-C

tl::unexpected<Error> stopped(std::int64_t frames, int sample_rate) {
  return fail(ErrorCode::cancelled, "interrupted after {:.1f} s of sound", static_cast<double>(frames) / sample_rate);
}

}  // namespace

Result<Streamed> stream_clip(engine::Engine& engine, const engine::Request& request, const AudioPrompt* recording,
                             const StreamFormat& format, ProgressDisplay& display) {
  const weights::ModelConfig& config = engine.config();
  Streamed result;
  engine::Clip& clip = result.clip;
  clip.codebooks = config.decoder.codebooks;
  clip.channels = config.decoder.audio_channels;
  clip.sample_rate = config.codec.sample_rate;
  clip.frames = engine::frame_count(engine::request_seconds(request), config);
  const auto whole = static_cast<std::size_t>(clip.frames) * static_cast<std::size_t>(config.codec.hop() * clip.channels);
  clip.audio.reserve(whole);
  CONTINUO_TRY(StreamOutput output, StreamOutput::open({format, clip.channels, clip.sample_rate,
                                                        static_cast<std::int64_t>(clip.frames) * config.codec.hop(), 0.0}));
  // The recording's last samples fade into what the model makes of them, so it goes out when all of that is there.
  const std::size_t held = recording != nullptr ? recording->samples.size() : 0;
  bool spliced = held == 0;

  const auto start = std::chrono::steady_clock::now();
  engine::Request streamed = request;
  streamed.chunk_seconds = chunk_seconds;
  streamed.buffer_seconds = buffer_seconds;
  CONTINUO_TRY(const auto job, engine.submit(streamed));
  engine::Progress progress{engine::Stage::text, 0.0, engine::request_seconds(request)};
  std::size_t written = 0;
  bool finished = false;
  while (!finished || written < clip.audio.size()) {
    const auto frames_written = static_cast<std::int64_t>(written) / clip.channels;
    if (interrupted()) return stopped(frames_written, clip.sample_rate);
    // What is at hand goes out first: with a slow reader sound waits in the job, which then pauses.
    const bool at_hand = spliced && written < clip.audio.size();
    if (!finished && !at_hand) {
      auto event = job->wait(patience);
      if (event && std::holds_alternative<engine::Started>(*event)) progress.stage = engine::Stage::decoder;
      if (event) {
        if (const auto* made = std::get_if<engine::Made>(&*event)) progress.audio_seconds = made->seconds;
        if (const auto* audio = std::get_if<engine::Audio>(&*event)) {
          clip.audio.insert(clip.audio.end(), audio->samples.begin(), audio->samples.end());
        }
        if (auto* last = std::get_if<engine::Finished>(&*event)) {
          finished = true;
          clip.codes = std::move(last->codes);
          result.timing = last->timing;
        }
        if (auto* failed = std::get_if<engine::Failed>(&*event)) return forward_error(std::move(failed->error));
      }
      display.show(progress);
    }
    if (!spliced && clip.audio.size() >= held) {
      audio::splice(clip.audio, recording->samples, clip.channels,
                    static_cast<std::size_t>(audio::splice_seconds * clip.sample_rate));
      spliced = true;
    }
    if (!spliced || written == clip.audio.size()) continue;
    CONTINUO_TRY(const std::int64_t taken, output.write(std::span(clip.audio).subspan(written), patience));
    if (written == 0 && taken > 0) {
      result.first_sound_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
    written += static_cast<std::size_t>(taken * clip.channels);
  }
  CONTINUO_CHECK(output.finish());
  return result;
}

}  // namespace continuo::cli
