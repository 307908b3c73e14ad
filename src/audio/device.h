// The sound device, through ALSA's library, which every desktop's sound server answers to as well. It is opened by name when it
// is first needed, as FFmpeg is (audio/ffmpeg.h): the program starts and makes files on machines without it.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>

#include "base/error.h"

struct _snd_pcm;  // ALSA's own name for what it hands out

namespace continuo::audio {

class SoundDevice {
 public:
  /// name: as ALSA knows it ("default", "hw:1"). latency: seconds of sound between writing and hearing, which the device rounds
  /// to what it can do. The rate is converted where the device has another.
  static Result<SoundDevice> open(const std::string& name, int channels, int sample_rate, double latency);

  /// Takes as many of the samples [n, channels] as there is room for; waits at most `seconds` for any room at all. Returns the
  /// number of frames taken. A device that has run dry begins anew when it is full again.
  Result<std::int64_t> write(std::span<const float> samples, double seconds);
  /// Waits until everything has been heard.
  Status drain();
  /// Forgets what has not been heard.
  void drop();
  /// How often there was nothing to play in the middle.
  int gaps() const { return gaps_; }

 private:
  struct Close {
    void operator()(_snd_pcm* pcm) const;
  };
  SoundDevice(std::unique_ptr<_snd_pcm, Close> pcm, std::string name, int channels)
      : pcm_(std::move(pcm)), name_(std::move(name)), channels_(channels) {}

  std::unique_ptr<_snd_pcm, Close> pcm_;
  std::string name_;
  int channels_;
  int gaps_ = 0;
};

}  // namespace continuo::audio
