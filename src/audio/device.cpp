#include "audio/device.h"

#include <alsa/asoundlib.h>
#include <dlfcn.h>

#include <algorithm>
#include <cerrno>
#include <vector>

#include "audio/wav.h"

namespace continuo::audio {

namespace {

#define CONTINUO_ALSA_FUNCTIONS(X) \
  X(snd_lib_error_set_handler)     \
  X(snd_pcm_avail_update)          \
  X(snd_pcm_close)                 \
  X(snd_pcm_drain)                 \
  X(snd_pcm_drop)                  \
  X(snd_pcm_nonblock)              \
  X(snd_pcm_open)                  \
  X(snd_pcm_recover)               \
  X(snd_pcm_set_params)            \
  X(snd_pcm_wait)                  \
  X(snd_pcm_writei)                \
  X(snd_strerror)

struct Alsa {
#define CONTINUO_DECLARE(function) decltype(&::function) function = nullptr;
  CONTINUO_ALSA_FUNCTIONS(CONTINUO_DECLARE)
#undef CONTINUO_DECLARE
};

void say_nothing(const char*, int, const char*, int, const char*, ...) {}

Result<Alsa> load() {
  constexpr const char* file = "libasound.so.2";  // the only version there has been since 2002
  void* library = ::dlopen(file, RTLD_LAZY | RTLD_LOCAL);
  if (library == nullptr) {
    return fail(ErrorCode::unsupported,
                "playing on a sound device needs ALSA's library, {}, which is not installed; --stdout plays into a pipe", file);
  }
  Alsa table;
#define CONTINUO_LOOK_UP(function)                                                          \
  table.function = reinterpret_cast<decltype(table.function)>(::dlsym(library, #function)); \
  if (table.function == nullptr) {                                                          \
    return fail(ErrorCode::unsupported, "ALSA's library {} has no {}", file, #function);    \
  }
  CONTINUO_ALSA_FUNCTIONS(CONTINUO_LOOK_UP)
#undef CONTINUO_LOOK_UP
  table.snd_lib_error_set_handler(say_nothing);  // our errors say what went wrong
  return table;
}

const Result<Alsa>& alsa() {
  static const Result<Alsa> table = load();
  return table;
}

tl::unexpected<Error> broken(const std::string& name, int error) {
  return fail(ErrorCode::io, "the sound device '{}' failed: {}", name, alsa()->snd_strerror(error));
}

}  // namespace

void SoundDevice::Close::operator()(_snd_pcm* pcm) const { alsa()->snd_pcm_close(pcm); }

Result<SoundDevice> SoundDevice::open(const std::string& name, int channels, int sample_rate, double latency) {
  if (!alsa()) return forward_error(alsa().error());
  snd_pcm_t* opened = nullptr;
  int error = alsa()->snd_pcm_open(&opened, name.c_str(), SND_PCM_STREAM_PLAYBACK, SND_PCM_NONBLOCK);
  std::unique_ptr<_snd_pcm, Close> pcm(opened);
  if (error == 0) {
    constexpr int convert_rates = 1;
    error =
        alsa()->snd_pcm_set_params(opened, SND_PCM_FORMAT_S16_LE, SND_PCM_ACCESS_RW_INTERLEAVED, static_cast<unsigned>(channels),
                                   static_cast<unsigned>(sample_rate), convert_rates, static_cast<unsigned>(latency * 1e6));
  }
  if (error < 0) {
    return fail(ErrorCode::io,
                "there is no sound device '{}' to play on ({}); --device NAME chooses another, --stdout plays into a pipe", name,
                alsa()->snd_strerror(error));
  }
  return SoundDevice(std::move(pcm), name, channels);
}

Result<std::int64_t> SoundDevice::write(std::span<const float> samples, double seconds) {
  snd_pcm_sframes_t room = alsa()->snd_pcm_avail_update(pcm_.get());
  if (room == 0) {
    // An error shows in the next call, too.
    alsa()->snd_pcm_wait(pcm_.get(), static_cast<int>(seconds * 1e3));
    room = alsa()->snd_pcm_avail_update(pcm_.get());
  }
  if (room == -EPIPE) ++gaps_;
  if (room < 0) {
    const int error = alsa()->snd_pcm_recover(pcm_.get(), static_cast<int>(room), 1);
    if (error < 0) return broken(name_, error);
    return 0;
  }
  const auto frames = std::min<std::int64_t>(room, static_cast<std::int64_t>(samples.size()) / channels_);
  if (frames == 0) return 0;
  CONTINUO_TRY(const std::vector<std::byte> bytes,
               encode_samples(samples.first(static_cast<std::size_t>(frames * channels_)), SampleFormat::pcm16));
  const snd_pcm_sframes_t taken = alsa()->snd_pcm_writei(pcm_.get(), bytes.data(), static_cast<snd_pcm_uframes_t>(frames));
  if (taken >= 0) return taken;
  if (taken == -EAGAIN) return 0;
  if (taken == -EPIPE) ++gaps_;
  const int error = alsa()->snd_pcm_recover(pcm_.get(), static_cast<int>(taken), 1);
  if (error < 0) return broken(name_, error);
  return 0;
}

Status SoundDevice::drain() {
  alsa()->snd_pcm_nonblock(pcm_.get(), 0);  // or it would return before the end
  const int error = alsa()->snd_pcm_drain(pcm_.get());
  if (error < 0 && error != -EPIPE) return broken(name_, error);
  return {};
}

void SoundDevice::drop() { alsa()->snd_pcm_drop(pcm_.get()); }

}  // namespace continuo::audio
