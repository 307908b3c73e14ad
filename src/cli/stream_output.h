// Sound on its way out while it is made: to standard output or to a sound device. Whoever plays asks for room and never waits
// long, so that Ctrl-C and what is typed are heard in between.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/device.h"
#include "audio/wav.h"
#include "base/error.h"

namespace continuo::cli {

class Sink {
 public:
  virtual ~Sink() = default;
  /// Takes as many of the samples [n, channels] as there is room for; waits at most `seconds` for room. Returns the frames taken.
  virtual Result<std::int64_t> write(std::span<const float> samples, double seconds) = 0;
  /// Everything was written: waits until it is out; gives up when the person asks to stop.
  virtual Status finish() = 0;
  /// Forgets what nobody has heard yet.
  virtual void drop() {}
  /// Whether the listener has left, which write() tells as an error.
  virtual bool listener_left() const { return false; }
  /// How often the listener had nothing to hear in the middle, as far as that is known.
  virtual int gaps() const { return 0; }
};

struct StreamFormat {
  audio::SampleFormat samples = audio::SampleFormat::pcm16;
  bool wav = false;
};

/// "s16le", "s24le", "f32le": samples alone, channels in turns; "wav": a WAV file of `wav_samples`.
Result<StreamFormat> parse_stream_format(const std::string& name, audio::SampleFormat wav_samples);

/// "s16le, 32000 Hz, mono", for a person who has to tell a player.
std::string describe(const StreamFormat& format, int channels, int sample_rate);

/// Refuses a terminal, and a standard output that is closed.
Status check_stream_output();

/// Standard output. Written in pieces that a pipe takes without waiting.
class StreamOutput final : public Sink {
 public:
  struct Options {
    StreamFormat format;
    int channels = 1;
    int sample_rate = 0;
    std::optional<std::int64_t> frames;  // all there will be, for a WAV file's sizes
    double lead = 0.0;                   // > 0: in real time, never further ahead of the listener than that
  };
  static Result<StreamOutput> open(const Options& options);

  Result<std::int64_t> write(std::span<const float> samples, double seconds) override;
  Status finish() override;
  bool listener_left() const override { return left_; }

 private:
  using Clock = std::chrono::steady_clock;
  explicit StreamOutput(const Options& options) : options_(options) {}
  /// Whether all of pending_ is out.
  Result<bool> push(double seconds);
  /// Waits until it is time for more, at most `seconds`; whether it is.
  bool in_time(double seconds);

  Options options_;
  std::vector<std::byte> pending_;
  std::size_t pushed_ = 0;
  std::int64_t written_ = 0;  // frames
  std::optional<Clock::time_point> start_;
  bool left_ = false;
};

class DeviceOutput final : public Sink {
 public:
  explicit DeviceOutput(audio::SoundDevice device) : device_(std::move(device)) {}
  Result<std::int64_t> write(std::span<const float> samples, double seconds) override { return device_.write(samples, seconds); }
  Status finish() override { return device_.drain(); }
  void drop() override { device_.drop(); }
  int gaps() const override { return device_.gaps(); }

 private:
  audio::SoundDevice device_;
};

}  // namespace continuo::cli
