#include "audio/resample.h"

#include <algorithm>

#include "audio/ffmpeg.h"

namespace continuo::audio {

Sound with_channels(Sound sound, int channels) {
  if (sound.channels == channels) return sound;
  Sound out{{}, channels, sound.sample_rate};
  const auto frames = static_cast<std::size_t>(sound.frames());
  out.samples.resize(frames * static_cast<std::size_t>(channels));
  for (std::size_t i = 0; i < frames; ++i) {
    if (channels == 1) {
      out.samples[i] = 0.5F * sound.samples[2 * i] + 0.5F * sound.samples[2 * i + 1];
    } else {
      out.samples[2 * i] = out.samples[2 * i + 1] = sound.samples[i];
    }
  }
  return out;
}

Result<Sound> resampled(Sound sound, int rate) {
  if (sound.sample_rate == rate || sound.samples.empty()) {
    sound.sample_rate = rate;
    return sound;
  }
  CONTINUO_CHECK(load_ffmpeg());
  AVChannelLayout layout{};
  ffmpeg().av_channel_layout_default(&layout, sound.channels);
  SwrContext* context = nullptr;
  ffmpeg().swr_alloc_set_opts2(&context, &layout, AV_SAMPLE_FMT_FLT, rate, &layout, AV_SAMPLE_FMT_FLT, sound.sample_rate, 0,
                               nullptr);
  const Owned<SwrContext> converter = own(context);
  // 28 bits are soxr's "very high quality"; it computes in double precision when its samples are doubles.
  if (context == nullptr || ffmpeg().av_opt_set(context, "resampler", "soxr", 0) < 0 ||
      ffmpeg().av_opt_set_double(context, "precision", 28.0, 0) < 0 ||
      ffmpeg().av_opt_set_sample_fmt(context, "internal_sample_fmt", AV_SAMPLE_FMT_DBLP, 0) < 0 ||
      ffmpeg().swr_init(context) < 0) {
    return fail(ErrorCode::unsupported, "audio at {} Hz cannot be brought to {} Hz: this FFmpeg was built without soxr",
                sound.sample_rate, rate);
  }
  // Small enough that the output of a chunk, which the resampler holds meanwhile, is short too.
  const std::int64_t chunk = std::max<std::int64_t>(64, (std::int64_t{1} << 16) * std::min(sound.sample_rate, rate) / rate);
  const auto channels = static_cast<std::size_t>(sound.channels);
  const std::int64_t frames = sound.frames(), wanted = (frames * rate + sound.sample_rate - 1) / sound.sample_rate;
  Sound out{std::vector<float>(static_cast<std::size_t>(wanted) * channels), sound.channels, rate};
  std::int64_t given = 0, made = 0;
  while (made < wanted) {
    const std::int64_t count = std::min(chunk, frames - given);
    const auto* in = reinterpret_cast<const std::uint8_t*>(sound.samples.data() + static_cast<std::size_t>(given) * channels);
    auto* to = reinterpret_cast<std::uint8_t*>(out.samples.data() + static_cast<std::size_t>(made) * channels);
    // Without input it gives what it still holds.
    const int got =
        ffmpeg().swr_convert(context, &to, static_cast<int>(wanted - made), count > 0 ? &in : nullptr, static_cast<int>(count));
    if (got < 0) return fail(ErrorCode::io, "FFmpeg cannot resample from {} to {} Hz", sound.sample_rate, rate);
    if (got == 0 && count == 0) break;  // a sample short of the rounded length: the rest stays zero
    given += count;
    made += got;
  }
  return out;
}

}  // namespace continuo::audio
