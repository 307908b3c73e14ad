#include "audio/resample.h"

#include <algorithm>

#include "audio/ffmpeg.h"
#include "audio/stages.h"

namespace continuo::audio {

namespace {

Result<Owned<SwrContext>> soxr(int channels, int from, int to) {
  CONTINUO_CHECK(load_ffmpeg());
  AVChannelLayout layout{};
  ffmpeg().av_channel_layout_default(&layout, channels);
  SwrContext* context = nullptr;
  ffmpeg().swr_alloc_set_opts2(&context, &layout, AV_SAMPLE_FMT_FLT, to, &layout, AV_SAMPLE_FMT_FLT, from, 0, nullptr);
  Owned<SwrContext> converter = own(context);
  // 28 bits are soxr's "very high quality"; it computes in double precision when its samples are doubles.
  if (context == nullptr || ffmpeg().av_opt_set(context, "resampler", "soxr", 0) < 0 ||
      ffmpeg().av_opt_set_double(context, "precision", 28.0, 0) < 0 ||
      ffmpeg().av_opt_set_sample_fmt(context, "internal_sample_fmt", AV_SAMPLE_FMT_DBLP, 0) < 0 ||
      ffmpeg().swr_init(context) < 0) {
    return fail(ErrorCode::unsupported, "audio at {} Hz cannot be brought to {} Hz: this FFmpeg was built without soxr", from,
                to);
  }
  return converter;
}

/// soxr gets blocks of one size, whatever the pieces: so they cannot change what it computes.
class Resampler : public Stage {
 public:
  Resampler(Owned<SwrContext> converter, int channels, int from, int to)
      : converter_(std::move(converter)),
        channels_(static_cast<std::size_t>(channels)),
        from_(from),
        to_(to),
        // Room for what a block gives. soxr works in blocks of its own; what does not fit comes out with the next.
        made_(static_cast<std::size_t>((std::int64_t{block_frames} * to + from - 1) / from + most_held) * channels_) {}

  Status push(std::span<const float> in, std::vector<float>& out) override {
    const std::size_t block = block_frames * channels_;
    given_ += static_cast<std::int64_t>(in.size() / channels_);
    while (!in.empty()) {
      const std::size_t count = std::min(in.size(), block - waiting_.size());
      waiting_.insert(waiting_.end(), in.begin(), in.begin() + static_cast<std::ptrdiff_t>(count));
      in = in.subspan(count);
      if (waiting_.size() == block) CONTINUO_CHECK(convert(false, out));
    }
    return {};
  }

  Status finish(std::vector<float>& out) override {
    const std::int64_t wanted = (2 * given_ * to_ + from_) / (2 * from_);  // rounded
    if (!waiting_.empty()) CONTINUO_CHECK(convert(false, out));
    while (done_ < wanted) {
      CONTINUO_TRY(const int got, convert(true, out));
      if (got == 0) break;  // a sample short of the rounded length: the rest stays zero
    }
    // Never negative: soxr is always behind until its end, and what it brings then is cut here.
    const auto size = static_cast<std::int64_t>(out.size()) + (wanted - done_) * static_cast<std::int64_t>(channels_);
    out.resize(static_cast<std::size_t>(std::max<std::int64_t>(0, size)));
    return {};
  }

 private:
  static constexpr int block_frames = 512;
  static constexpr int most_held = 1 << 14;

  /// What is waiting, or at the end what soxr still holds.
  Result<int> convert(bool end, std::vector<float>& out) {
    const auto* in = reinterpret_cast<const std::uint8_t*>(waiting_.data());
    auto* to = reinterpret_cast<std::uint8_t*>(made_.data());
    const int got = ffmpeg().swr_convert(converter_.get(), &to, static_cast<int>(made_.size() / channels_), end ? nullptr : &in,
                                         static_cast<int>(waiting_.size() / channels_));
    if (got < 0) return fail(ErrorCode::io, "FFmpeg cannot resample from {} to {} Hz", from_, to_);
    waiting_.clear();
    out.insert(out.end(), made_.begin(),
               made_.begin() + static_cast<std::ptrdiff_t>(got) * static_cast<std::ptrdiff_t>(channels_));
    done_ += got;
    return got;
  }

  Owned<SwrContext> converter_;
  std::size_t channels_;
  std::int64_t from_, to_;
  std::vector<float> waiting_, made_;
  std::int64_t given_ = 0, done_ = 0;  // frames
};

}  // namespace

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
  CONTINUO_TRY(const Owned<SwrContext> converter, soxr(sound.channels, sound.sample_rate, rate));
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
    const int got = ffmpeg().swr_convert(converter.get(), &to, static_cast<int>(wanted - made), count > 0 ? &in : nullptr,
                                         static_cast<int>(count));
    if (got < 0) return fail(ErrorCode::io, "FFmpeg cannot resample from {} to {} Hz", sound.sample_rate, rate);
    if (got == 0 && count == 0) break;  // a sample short of the rounded length: the rest stays zero
    given += count;
    made += got;
  }
  return out;
}

Result<std::unique_ptr<Stage>> stream_resampler(int channels, int from, int to) {
  if (from == to) return std::make_unique<ChannelMix>(channels, channels);
  CONTINUO_TRY(Owned<SwrContext> converter, soxr(channels, from, to));
  return std::make_unique<Resampler>(std::move(converter), channels, from, to);
}

}  // namespace continuo::audio
