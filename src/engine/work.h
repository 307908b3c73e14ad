// One request inside the engine: its parts, the piece being made, the sound on its way out.
#pragma once

#include <atomic>
#include <chrono>
#include <memory>
#include <mutex>
#include <optional>
#include <vector>

#include "codec/stream.h"
#include "engine/conditioner.h"
#include "engine/outbox.h"
#include "engine/piece.h"

namespace continuo::engine {

using Clock = std::chrono::steady_clock;

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(Clock::now() - start_).count(); }

 private:
  Clock::time_point start_ = Clock::now();
};

/// What a job's reader and the engine share.
struct Shared {
  Shared(JobId job, std::function<void()> notify, std::function<void()> wake)
      : id(job), outbox(std::move(notify), std::move(wake)) {}

  const JobId id;
  int rows = 0;  // of a step; set before the job is known to anybody
  Outbox outbox;
  std::atomic<bool> cancelled{false};
  std::atomic<JobState> state{JobState::queued};
  std::mutex mutex;
  Change unheard;  // under the mutex
};

/// A stretch of a request that is one sequence of codes: prompts and from which frame on they are heard.
struct Part {
  struct Prompt {
    int from_frame = 0;
    std::string text;
    std::vector<int> ids;  // empty for no prompt
  };
  std::vector<Prompt> prompts;
  int frames = 0;
  int fade_frames = 0;  // at its end, which the next part's beginning is mixed into
};

/// The parts of a request; a relay has one for each crossfade and one more. tokenize: text -> ids.
std::vector<Part> parts_of(const Request& request, const weights::ModelConfig& config);

/// Mixes the end of one part with the beginning of the next at equal power; otherwise lets the samples through.
class Joiner {
 public:
  explicit Joiner(int channels) : channels_(channels) {}
  /// A part begins whose last `fade` samples (of each channel) belong to the next one's beginning too.
  void begin(std::int64_t samples, std::int64_t fade);
  /// The next samples of the part [n, channels] -> those that are final.
  std::vector<float> push(std::vector<float> samples);

 private:
  int channels_;
  std::int64_t length_ = 0, fade_ = 0, taken_ = 0;
  std::vector<float> tail_;  // of the part before, to be mixed in
  std::vector<float> held_;  // the end of this part
};

struct Work {
  Request request;
  std::shared_ptr<Shared> shared;
  std::vector<Part> parts;
  int pages = 0;
  int rows = 0;  // of a step
  bool realtime = false;
  bool admitted = false;

  std::size_t part = 0;
  std::map<std::string, HeardText> heard;  // by prompt
  std::unique_ptr<Piece> piece;
  std::size_t next_prompt = 0;  // of the part, to be heard when its frame comes
  std::optional<codec::DecoderStream> stream;
  int pushed = 0;        // frames, of this part
  int codec_waited = 0;  // turns in which others' frames went first
  Joiner joiner{1};
  std::vector<float> pending;  // samples that do not make a chunk yet
  std::int64_t sent = 0;       // samples of each channel
  std::optional<Clock::time_point> first_sound;
  int told_place = -1;
  int told_frames = 0;
  Timing timing;

  /// Whether a part of the request hears this prompt.
  bool has_prompt(const std::string& text) const;
};

}  // namespace continuo::engine
