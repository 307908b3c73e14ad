// The engine turns requests into music with one resident model: make one on a model and a budget, submit requests, receive
// events.
//
// Policy:
// - Any number of requests share the steps of the model; they join and leave between any two steps (engine/scheduler.h says in
//   which order). The codes of a request are the same alone, in any company, streamed or whole, after a pause, with any number of
//   threads, and the beginning of a longer piece.
// - What a request needs in keys and values is known when it is submitted and reserved before it starts. Nothing is evicted. What
//   can never fit into the budget is refused with the number it needs; what does not fit now waits.
// - Sound leaves while it is made. A reader that does not read pauses its own request, nobody else's.
// - Everything is computed on one thread of the engine and its helpers. Events wait in the job until they are taken; nothing of
//   the engine ever waits for a reader or a network. Only what a cache folder holds is read from a disk, before a piece starts.
// - Each job ends exactly once: finished, or failed (cancelled is a failure by wish).
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"
#include "compute/executor.h"
#include "engine/scheduler.h"
#include "weights/tensor_source.h"

namespace continuo::engine {

enum class Strategy { sample, greedy };

struct Sampling {
  Strategy strategy = Strategy::sample;
  float temperature = 1.0F;  // 0 is greedy
  int top_k = 250;           // 0: no cut
  float top_p = 0.0F;        // > 0 replaces top_k
  float guidance = 3.0F;     // 1: no second row
};

/// How a segment of a relay follows the one before: on the same codes, or as a piece of its own joined by a crossfade.
enum class Join { continued, crossfaded };

/// A part of a prompt relay.
struct Segment {
  std::string prompt;
  double seconds = 0.0;
  Join join = Join::continued;
};

struct Request : Sampling {
  std::string prompt;     // empty: unconditional
  double seconds = 10.0;  // 0 < seconds <= longest_seconds; beyond the model's window it is made in several
  std::uint64_t seed = 0;
  int take = 1;  // random numbers are keyed by (seed, take); take 1 is the single run
  // To continue a piece: its codes [codebooks, prompt_frames], fewer frames than `seconds` makes in all. They come back at the
  // start of the clip's codes.
  std::vector<std::int64_t> prompt_codes;
  int prompt_frames = 0;
  // A melody to follow, for models that can (is_melody()): the strongest pitch class (0 to bins - 1) of each spectrum of a
  // recording.
  std::vector<int> melody;
  // A relay: several prompts in a row, in place of `prompt` and `seconds`.
  std::vector<Segment> segments;
  double crossfade_seconds = 0.3;  // of crossfaded segments, equal power

  Service service = Service::normal;  // realtime: keep up with a listener, if the machine can
  bool realtime_or_nothing = false;   // fail rather than run without that guarantee
  bool endless = false;               // until cancelled; `seconds` does not count
  double chunk_seconds = 0.5;         // sound leaves in pieces of at least this much
  double buffer_seconds = 0.0;        // > 0: pause while so much sound waits to be taken
};

/// Keys and values take at most this much when no budget is given.
inline constexpr std::int64_t most_default_kv_bytes = std::int64_t{2} << 30;

/// The longest piece, in seconds.
inline constexpr double longest_seconds = 600.0;

/// Largest prompt accepted, in bytes.
inline constexpr std::size_t max_prompt_bytes = 20'000;

/// A request with the model's own defaults for everything that makes the sound.
Request default_request(const weights::ModelConfig& config);

/// One sentence on the first thing that is wrong, or success. Checks everything that can be known before work starts.
Status validate(const Request& request, const weights::ModelConfig& config);

/// round(seconds x frame rate): the frames of a piece.
int frame_count(double seconds, const weights::ModelConfig& config);

/// The whole length: of the segments of a relay, else `seconds`.
double request_seconds(const Request& request);

struct Clip {
  std::vector<std::int64_t> codes;  // [codebooks, frames]
  int codebooks = 0;
  int frames = 0;
  int channels = 1;
  std::vector<float> audio;  // [frames * hop, channels] samples, not clamped
  int sample_rate = 0;
};

enum class Stage { text, decoder, codec };

struct Progress {
  Stage stage = Stage::text;
  double audio_seconds = 0.0;  // made so far, summed over the batch
  double audio_seconds_total = 0.0;
};

struct Timing {
  double text_seconds = 0.0;
  double decoder_seconds = 0.0;
  double codec_seconds = 0.0;
};

// What a job tells, in this order: queued (again whenever its place changes), started, then audio and progress, then one of the
// last two.
struct Queued {
  int place = 0;             // 0: next
  double eta_seconds = 0.0;  // until the piece is finished
};
struct Started {
  bool realtime = false;      // whether the stream is guaranteed
  double step_seconds = 0.0;  // what a step takes with all guaranteed streams, as far as it is known
};
struct Audio {
  std::vector<float> samples;  // [samples, channels], not clamped
  std::int64_t first = 0;      // of the piece's samples
};
struct Made {
  double seconds = 0.0;  // of music, codes
  double eta_seconds = 0.0;
};
struct Finished {
  std::vector<std::int64_t> codes;  // [codebooks, frames]; none of endless or crossfaded pieces
  int frames = 0;
  Timing timing;
};
struct Failed {
  Error error;
};
using Event = std::variant<Queued, Started, Audio, Made, Finished, Failed>;

/// Changes to a piece that is being made; they are heard from the next step on. Absent: stays.
struct Change {
  std::optional<std::string> prompt;
  std::optional<float> guidance;
  std::optional<float> temperature;
};

enum class JobState { queued, running, paused, ended };

/// One request on its way. All functions may be called from any thread. Letting go of the last reference cancels.
class Job {
 public:
  virtual ~Job() = default;
  virtual JobId id() const = 0;
  /// The next event, if there is one; never waits.
  virtual std::optional<Event> poll() = 0;
  /// Waits for the next event; nothing after the last one, or when the time is over (negative: no limit).
  virtual std::optional<Event> wait(double seconds = -1.0) = 0;
  virtual JobState state() const = 0;
  /// Ends the job within a step, whatever it is doing. Twice, or too late, does nothing.
  virtual void cancel() = 0;
  /// Errors: the job has ended, the prompt is not text, a number is out of range, the model cannot change; a guidance other than
  /// 1 for a piece that was begun without (a guidance of 1, or no prompt, unless it is endless).
  virtual Status change(const Change& change) = 0;
};

struct EngineOptions {
  int threads = 0;             // 0: one for each physical core
  std::string kv = "int8";     // int8 | f16 | f32
  std::string isa = "";        // empty: the best the machine has (CONTINUO_ISA forces one)
  std::int64_t memory = 0;     // the process's budget in bytes; 0: what is free, within reason
  std::int64_t set_aside = 0;  // of the budget, for what the program keeps beside the engine: sound, recordings
  int max_rows = 32;           // of a step
  std::string cache_folder{};  // for conditioning that survives restarts; empty: none
  std::int64_t cache_folder_bytes = std::int64_t{256} << 20;
  std::int64_t cache_bytes = std::int64_t{64} << 20;  // conditioning kept in memory
};

/// What an engine is doing and has done.
struct EngineStatus {
  int running = 0;
  int waiting = 0;
  int pages = 0;
  int free_pages = 0;
  std::int64_t page_bytes = 0;
  std::int64_t conditioning_hits = 0;
  std::int64_t conditioning_misses = 0;
  std::int64_t conditioning_restored = 0;  // of the misses, found in the cache folder
  std::int64_t steps = 0;
  double step_seconds = 0.0;  // a step of two rows, as measured
  int rows = 0;               // of the last step; 0 when nothing runs
  std::int64_t frames = 0;    // of all pieces, through the codec
  Durations step_times, codec_times;
};

class Engine {
 public:
  /// Loads the weights of a validated model. Takes the source; it lives as long as the engine.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<weights::TensorSource> source, const EngineOptions& options);
  virtual ~Engine() = default;

  virtual const weights::ModelConfig& config() const = 0;
  virtual int threads() const = 0;
  virtual std::string isa() const = 0;

  /// Takes a request in. notify is called, from the engine's thread, whenever the job has a new event; it must be quick. It may
  /// poll, cancel, submit, and let jobs go. One more call may be under way when the last reference to the job goes.
  /// Jobs may outlive the engine; they end with it.
  /// Errors: what validate() says; a piece that can never fit into the budget, with the number of bytes it needs.
  virtual Result<std::shared_ptr<Job>> submit(const Request& request, std::function<void()> notify = {}) = 0;
  virtual EngineStatus status() const = 0;

  /// Submits the requests and waits for all of them: whole clips, in the order of the requests. progress is called on this
  /// thread, often; so is cancelled.
  virtual Result<std::vector<Clip>> generate(std::span<const Request> requests,
                                             const std::function<void(const Progress&)>& progress,
                                             const std::function<bool()>& cancelled) = 0;
  virtual Timing last_timing() const = 0;

  /// Token ids of a prompt, end id included; works for the empty prompt too.
  virtual Result<std::vector<int>> tokenize(const std::string& prompt) const = 0;
  /// T5's last hidden state, [tokens, width of the text encoder].
  virtual Result<std::vector<float>> encode_text(std::span<const int> ids) = 0;
  /// A prompt's mark for finding similar ones: the mean of T5's states over its tokens, [width of the text encoder].
  virtual Result<std::vector<float>> fingerprint(const std::string& prompt) = 0;
  /// Whole-clip codec decode. codes: [codebooks, frames]; result [frames * hop, channels]. A stereo model's codebooks alternate
  /// left and right; codes with only the codec's own number of codebooks give one channel.
  /// window_frames: frames decoded at once (0: the usual 64); the samples do not depend on it.
  virtual Result<std::vector<float>> decode_codes(std::span<const std::int64_t> codes, int frames, int chunk_frames = 0) = 0;
  /// Codec encode. audio [samples, channels of the model] at the codec's rate -> codes [codebooks, ceil(samples / hop)].
  virtual Result<std::vector<std::int64_t>> encode_audio(std::span<const float> audio) = 0;

  /// A step of the decoder alone for benchmarks, the fastest of several warm ones: milliseconds for `rows` rows at `position` of
  /// random history.
  struct StepTime {
    double step_ms = 0.0;
    double linear_ms = 0.0;
    std::vector<compute::OperatorTime> operators;  // of that step
  };
  virtual Result<StepTime> time_step(int rows, int position) = 0;
  /// Bytes of weights that a step reads, and of K/V that a row reads at a position.
  virtual std::int64_t step_weight_bytes() const = 0;
  virtual std::int64_t kv_bytes(int position) const = 0;
};

}  // namespace continuo::engine
