// The engine turns requests into audio with one resident model.
//
// Policy of this first version: generate() runs its requests as one batch, start to end, on the calling thread (the compute
// threads are the executor's); more requests than max_batch_kv_bytes allows run as several batches, one after the other. The
// codes of a request are the same alone and in any batch, and with any number of threads. Nothing is kept between calls but the
// weights; the K/V pages of a call are all back in the pool when it returns, whether it succeeded, failed or was cancelled.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "compute/executor.h"
#include "weights/tensor_source.h"

namespace continuo::engine {

enum class Strategy { sample, greedy };

struct Request {
  std::string prompt;     // empty: unconditional
  double seconds = 10.0;  // 0 < seconds <= the model's window (30 s)
  std::uint64_t seed = 0;
  int take = 1;  // random numbers are keyed by (seed, take); take 1 is the single run
  Strategy strategy = Strategy::sample;
  float temperature = 1.0F;  // 0 is greedy
  int top_k = 250;           // 0: no cut
  float top_p = 0.0F;        // > 0 replaces top_k
  float guidance = 3.0F;     // 1: no second row
  // To continue a piece: its codes [codebooks, prompt_frames], fewer frames than `seconds` makes in all. They come back at the
  // start of the clip's codes.
  std::vector<std::int64_t> prompt_codes;
  int prompt_frames = 0;
  // A melody to follow, for models that can (is_melody()): the strongest pitch class (0 to bins - 1) of each spectrum of a
  // recording.
  std::vector<int> melody;
};

/// Keys and values of a batch take at most this much, unless a single request needs more.
inline constexpr std::int64_t max_batch_kv_bytes = std::int64_t{2} << 30;

/// Largest prompt accepted, in bytes.
inline constexpr std::size_t max_prompt_bytes = 20'000;

/// A request with the model's own defaults for everything that makes the sound.
Request default_request(const weights::ModelConfig& config);

/// One sentence on the first thing that is wrong, or success. Checks everything that can be known before work starts.
Status validate(const Request& request, const weights::ModelConfig& config);

/// round(seconds x frame rate): the frames of a piece.
int frame_count(double seconds, const weights::ModelConfig& config);

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

struct EngineOptions {
  int threads = 0;         // 0: one for each physical core
  std::string kv = "f32";  // f32 | f16 | int8
  std::string isa = "";    // empty: the best the machine has (CONTINUO_ISA forces one)
};

class Engine {
 public:
  /// Loads the weights of a validated model. Takes the source; it lives as long as the engine.
  static Result<std::unique_ptr<Engine>> create(std::unique_ptr<weights::TensorSource> source, const EngineOptions& options);
  virtual ~Engine() = default;

  virtual const weights::ModelConfig& config() const = 0;
  virtual int threads() const = 0;
  virtual std::string isa() const = 0;

  /// progress is called on this thread, often; cancelled is asked between steps. The clips are in the order of the requests.
  virtual Result<std::vector<Clip>> generate(std::span<const Request> requests,
                                             const std::function<void(const Progress&)>& progress,
                                             const std::function<bool()>& cancelled) = 0;
  virtual Timing last_timing() const = 0;

  /// Token ids of a prompt, end id included; works for the empty prompt too.
  virtual Result<std::vector<int>> tokenize(const std::string& prompt) const = 0;
  /// T5's last hidden state, [tokens, width of the text encoder].
  virtual Result<std::vector<float>> encode_text(std::span<const int> ids) = 0;
  /// Whole-clip codec decode. codes: [codebooks, frames]; result [frames * hop, channels]. A stereo model's codebooks alternate
  /// left and right; codes with only the codec's own number of codebooks give one channel.
  /// window_frames: frames decoded at once (0: the usual 64); the samples do not depend on it.
  virtual Result<std::vector<float>> decode_codes(std::span<const std::int64_t> codes, int frames, int window_frames = 0) = 0;
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
