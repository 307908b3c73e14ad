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

/// What is ready to be written.
class Outgoing {
 public:
  Outgoing(std::optional<audio::Chain> chain, int channels) : chain_(std::move(chain)), channels_(channels) {}

  /// The clip's first samples, those that came before included.
  Status add(std::span<const float> clip) {
    const auto more = clip.subspan(heard_);
    heard_ = clip.size();
    if (!chain_) return append(more);
    CONTINUO_TRY(const std::vector<float> finished, chain_->push(more));
    return append(finished);
  }
  /// The clip is complete.
  Status end() {
    if (ended_ || !chain_) return {};
    ended_ = true;
    CONTINUO_TRY(const std::vector<float> finished, chain_->finish());
    return append(finished);
  }
  bool empty() const { return at_ == samples_.size(); }
  std::int64_t frames_written() const { return written_; }
  Status write(StreamOutput& output) {
    CONTINUO_TRY(const std::int64_t taken, output.write(std::span(samples_).subspan(at_), patience));
    at_ += static_cast<std::size_t>(taken * channels_);
    written_ += taken;
    return {};
  }

 private:
  Status append(std::span<const float> more) {
    samples_.erase(samples_.begin(), samples_.begin() + static_cast<std::ptrdiff_t>(at_));
    at_ = 0;
    samples_.insert(samples_.end(), more.begin(), more.end());
    return {};
  }

  std::optional<audio::Chain> chain_;
  int channels_;
  std::vector<float> samples_;
  std::size_t at_ = 0, heard_ = 0;
  std::int64_t written_ = 0;
  bool ended_ = false;
};

}  // namespace

Result<Streamed> stream_clip(engine::Engine& engine, const engine::Request& request, const AudioPrompt* recording,
                             const StreamFormat& format, std::optional<audio::Chain> finish, ProgressDisplay& display) {
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
  Outgoing outgoing(std::move(finish), clip.channels);
  bool finished = false;
  while (!finished || !outgoing.empty()) {
    if (interrupted()) return stopped(outgoing.frames_written(), clip.sample_rate);
    // What is at hand goes out first: with a slow reader sound waits in the job, which then pauses.
    if (!finished && outgoing.empty()) {
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
    if (!spliced) continue;
    if (outgoing.empty()) CONTINUO_CHECK(outgoing.add(clip.audio));
    if (finished) CONTINUO_CHECK(outgoing.end());
    if (outgoing.empty()) continue;
    const bool first = outgoing.frames_written() == 0;
    CONTINUO_CHECK(outgoing.write(output));
    if (first && outgoing.frames_written() > 0) {
      result.first_sound_seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    }
  }
  CONTINUO_CHECK(output.finish());
  return result;
}

}  // namespace continuo::cli
