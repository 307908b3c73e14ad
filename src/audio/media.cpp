#include "audio/media.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "audio/ffmpeg.h"
#include "base/file.h"

namespace continuo::audio {

namespace {

constexpr int io_buffer_bytes = 1 << 16;
constexpr int max_rate = 768'000;
constexpr std::size_t release_bytes = std::size_t{4} << 20;  // of a file, once they were read
constexpr double spare_seconds = 5.0;  // may be kept beyond the end that is wanted, so that samples are not moved all the time

/// The file as FFmpeg reads it. What was read is not kept in memory: mapped pages count like any others.
struct Input {
  std::span<const std::byte> bytes;
  const MappedFile* file = nullptr;  // whose bytes they are, if they are a file's
  std::size_t at = 0, released = 0;

  static int read(void* opaque, std::uint8_t* out, int size) {
    auto& input = *static_cast<Input*>(opaque);
    const std::size_t count = std::min(static_cast<std::size_t>(size), input.bytes.size() - input.at);
    if (count == 0) return AVERROR_EOF;
    std::memcpy(out, input.bytes.data() + input.at, count);
    input.at += count;
    if (input.file != nullptr && input.at >= input.released + release_bytes) {
      input.file->release(input.released, input.at - input.released);
      input.released = input.at;
    }
    return static_cast<int>(count);
  }

  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto& input = *static_cast<Input*>(opaque);
    const auto size = static_cast<std::int64_t>(input.bytes.size());
    if (whence == AVSEEK_SIZE) return size;
    const std::int64_t base = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? static_cast<std::int64_t>(input.at) : size;
    if (offset < -base || offset > size - base) return AVERROR(EINVAL);
    input.at = static_cast<std::size_t>(base + offset);
    input.released = std::min(input.released, input.at);
    return base + offset;
  }
};

using Io = Owned<AVIOContext>;
using Container = Owned<AVFormatContext>;
using Decoder = Owned<AVCodecContext>;

Io make_io(Input& input) {
  auto* const buffer = static_cast<unsigned char*>(ffmpeg().av_malloc(io_buffer_bytes));
  AVIOContext* const io = ffmpeg().avio_alloc_context(buffer, io_buffer_bytes, 0, &input, Input::read, nullptr, Input::seek);
  return {io, [](AVIOContext* context) {
            ffmpeg().av_free(context->buffer);  // may be another one by now
            ffmpeg().avio_context_free(&context);
          }};
}

tl::unexpected<Error> not_audio(const std::string& name) {
  return fail(ErrorCode::corrupt_file, "{} is not audio that FFmpeg can read", name);
}

Result<Container> open_container(AVIOContext* io, const std::string& name) {
  AVFormatContext* container = ffmpeg().avformat_alloc_context();
  container->pb = io;
  AVDictionary* options = nullptr;
  ffmpeg().av_dict_set(&options, "protocol_whitelist", "none", 0);  // playlists may open nothing
  const int opened = ffmpeg().avformat_open_input(&container, nullptr, nullptr, &options);
  ffmpeg().av_dict_free(&options);
  if (opened < 0) return not_audio(name);
  Container owned(container, [](AVFormatContext* context) { ffmpeg().avformat_close_input(&context); });
  if (ffmpeg().avformat_find_stream_info(container, nullptr) < 0) return not_audio(name);
  return owned;
}

AVStream* first_audio_stream(AVFormatContext& container) {
  AVStream* first = nullptr;
  for (unsigned i = 0; i < container.nb_streams; ++i) {
    AVStream* const stream = container.streams[i];
    if (first == nullptr && stream->codecpar->codec_type == AVMEDIA_TYPE_AUDIO) {
      first = stream;
    } else {
      stream->discard = AVDISCARD_ALL;
    }
  }
  return first;
}

Result<Decoder> open_decoder(const AVStream& stream, const std::string& name) {
  const AVCodec* const codec = ffmpeg().avcodec_find_decoder(stream.codecpar->codec_id);
  Decoder decoder(ffmpeg().avcodec_alloc_context3(codec),
                  [](AVCodecContext* context) { ffmpeg().avcodec_free_context(&context); });
  if (codec == nullptr || ffmpeg().avcodec_parameters_to_context(decoder.get(), stream.codecpar) < 0) {
    return fail(ErrorCode::unsupported, "{}: this FFmpeg cannot decode its audio ({})", name,
                ffmpeg().avcodec_get_name(stream.codecpar->codec_id));
  }
  decoder->pkt_timebase = stream.time_base;  // by which the encoder's padding at both ends is cut off
  if (ffmpeg().avcodec_open2(decoder.get(), codec, nullptr) < 0) return not_audio(name);
  return decoder;
}

/// What of a sound is wanted: all, a beginning (limits.first_seconds), or an end.
struct Wanted {
  MediaLimits limits;
  double last_seconds = std::numeric_limits<double>::infinity();

  bool whole() const { return std::isinf(limits.first_seconds) && std::isinf(last_seconds); }
};

tl::unexpected<Error> too_long(const std::string& name, const Wanted& wanted) {
  const double minutes = wanted.limits.seconds / 60.0;
  if (!wanted.whole())
    return fail(ErrorCode::unsupported, "{} is too long: at most {:g} minutes can be read; cut it first", name, minutes);
  return fail(ErrorCode::unsupported, "{} is too long: at most {:g} minutes and {} million samples can be read; cut it first",
              name, minutes, wanted.limits.samples / 1'000'000);
}

bool finite(std::span<const float> samples) {
  return std::all_of(samples.begin(), samples.end(), [](float sample) { return std::isfinite(sample); });
}

/// Decoded frames to interleaved floats at the same rate. With last_seconds only the end of them is kept.
class Collector {
 public:
  Collector(const std::string& name, const Wanted& wanted) : name_(name), wanted_(wanted) {}

  Status add(const AVFrame& frame) {
    if (converter_ == nullptr) CONTINUO_CHECK(begin(frame));
    if (frame.sample_rate != sound_.sample_rate || frame.format != format_ || frame.ch_layout.nb_channels != source_channels_) {
      return fail(ErrorCode::unsupported, "{} changes its rate or its channels on the way; save it anew with one of each", name_);
    }
    const std::size_t before = sound_.samples.size();
    const auto count = static_cast<std::size_t>(frame.nb_samples) * static_cast<std::size_t>(sound_.channels);
    if (before + count > most_ || static_cast<double>(skipped_seconds_) > wanted_.limits.seconds) return too_long(name_, wanted_);
    sound_.samples.resize(before + count);
    auto* out = reinterpret_cast<std::uint8_t*>(sound_.samples.data() + before);
    const int made = ffmpeg().swr_convert(converter_.get(), &out, frame.nb_samples,
                                          const_cast<const std::uint8_t**>(frame.extended_data), frame.nb_samples);
    if (made != frame.nb_samples) return fail(ErrorCode::io, "{}: FFmpeg cannot convert its samples", name_);
    return drop_beginning();
  }

  /// The part that is wanted is there.
  bool full() const { return sound_.sample_rate > 0 && static_cast<double>(sound_.frames()) >= wanted_frames(); }

  Result<Sound> finish() {
    if (sound_.samples.empty()) return not_audio(name_);
    if (full()) sound_.samples.resize(static_cast<std::size_t>(wanted_frames()) * static_cast<std::size_t>(sound_.channels));
    if (!finite(sound_.samples)) return not_finite();
    return std::move(sound_);
  }

  std::int64_t skipped_seconds() const { return skipped_seconds_; }

 private:
  tl::unexpected<Error> not_finite() const {
    return fail(ErrorCode::corrupt_file, "{} has samples that are not finite numbers", name_);
  }

  /// In whole seconds, see SoundEnd.
  Status drop_beginning() {
    const double seconds = static_cast<double>(sound_.frames()) / sound_.sample_rate;
    if (seconds < wanted_.last_seconds + spare_seconds) return {};
    const auto whole = static_cast<std::int64_t>(seconds - wanted_.last_seconds);
    const auto count = static_cast<std::size_t>(whole * sound_.sample_rate * sound_.channels);
    if (!finite(std::span(sound_.samples).first(count))) return not_finite();
    sound_.samples.erase(sound_.samples.begin(), sound_.samples.begin() + static_cast<std::ptrdiff_t>(count));
    skipped_seconds_ += whole;
    return {};
  }

  Status begin(const AVFrame& frame) {
    source_channels_ = frame.ch_layout.nb_channels;
    format_ = frame.format;
    if (frame.sample_rate < 1 || frame.sample_rate > max_rate || source_channels_ < 1) return not_audio(name_);
    sound_.sample_rate = frame.sample_rate;
    sound_.channels = std::min(source_channels_, 2);
    // One and two channels are taken for mono and stereo, whatever they are called, so that nothing is mixed.
    AVChannelLayout in{}, out{};
    ffmpeg().av_channel_layout_default(&out, sound_.channels);
    if (source_channels_ > 2 && frame.ch_layout.order != AV_CHANNEL_ORDER_UNSPEC) {
      ffmpeg().av_channel_layout_copy(&in, &frame.ch_layout);
    } else {
      ffmpeg().av_channel_layout_default(&in, source_channels_);
    }
    SwrContext* context = nullptr;
    ffmpeg().swr_alloc_set_opts2(&context, &out, AV_SAMPLE_FMT_FLT, frame.sample_rate, &in, static_cast<AVSampleFormat>(format_),
                                 frame.sample_rate, 0, nullptr);
    converter_ = own(context);
    ffmpeg().av_channel_layout_uninit(&in);
    if (context == nullptr || ffmpeg().av_opt_set_double(context, "rematrix_maxval", 1.0, 0) < 0 ||
        ffmpeg().swr_init(context) < 0) {
      return fail(ErrorCode::unsupported, "{}: its {} channels cannot be mixed down to two", name_, source_channels_);
    }
    const double most_frames = wanted_.whole() ? wanted_.limits.seconds * frame.sample_rate : INFINITY;
    most_ = static_cast<std::size_t>(std::min(static_cast<double>(wanted_.limits.samples), most_frames * sound_.channels));
    return {};
  }

  double wanted_frames() const { return std::ceil(wanted_.limits.first_seconds * sound_.sample_rate); }

  const std::string& name_;
  const Wanted& wanted_;
  Sound sound_;
  std::int64_t skipped_seconds_ = 0;
  Owned<SwrContext> converter_ = own(nullptr);
  int source_channels_ = 0;
  int format_ = AV_SAMPLE_FMT_NONE;
  std::size_t most_ = 0;  // samples of all channels that are kept
};

/// Takes what the decoder has ready. Errors of the data are no reason to stop.
Status drain(AVCodecContext& decoder, AVFrame& frame, Collector& collector) {
  while (!collector.full() && ffmpeg().avcodec_receive_frame(&decoder, &frame) >= 0) {
    const Status added = collector.add(frame);
    ffmpeg().av_frame_unref(&frame);
    CONTINUO_CHECK(added);
  }
  return {};
}

Status check_length(const AVFormatContext& container, const AVStream& stream, const std::string& name, const Wanted& wanted) {
  // A length that was estimated from the bit rate may be far off; then only the count while decoding is believed.
  if (!std::isinf(wanted.limits.first_seconds) || container.duration == AV_NOPTS_VALUE ||
      container.duration_estimation_method == AVFMT_DURATION_FROM_BITRATE) {
    return {};
  }
  const double seconds = static_cast<double>(container.duration) / AV_TIME_BASE;
  const double samples = seconds * stream.codecpar->sample_rate * std::min(stream.codecpar->ch_layout.nb_channels, 2);
  // A container rounds its length up, to a whole packet at worst.
  if (seconds > wanted.limits.seconds + 1.0 || (wanted.whole() && samples > 1.1 * static_cast<double>(wanted.limits.samples))) {
    return too_long(name, wanted);
  }
  return {};
}

Result<SoundEnd> decode(Input input, const std::string& name, const Wanted& wanted) {
  CONTINUO_CHECK(load_ffmpeg());
  const Io io = make_io(input);
  CONTINUO_TRY(const Container container, open_container(io.get(), name));
  const AVStream* const stream = first_audio_stream(*container);
  if (stream == nullptr) return not_audio(name);
  CONTINUO_CHECK(check_length(*container, *stream, name, wanted));
  CONTINUO_TRY(const Decoder decoder, open_decoder(*stream, name));
  const Owned<AVPacket> packet(ffmpeg().av_packet_alloc(), [](AVPacket* owned) { ffmpeg().av_packet_free(&owned); });
  const Owned<AVFrame> frame(ffmpeg().av_frame_alloc(), [](AVFrame* owned) { ffmpeg().av_frame_free(&owned); });
  Collector collector(name, wanted);
  while (!collector.full() && ffmpeg().av_read_frame(container.get(), packet.get()) >= 0) {
    const bool ours = packet->stream_index == stream->index;
    if (ours) ffmpeg().avcodec_send_packet(decoder.get(), packet.get());
    ffmpeg().av_packet_unref(packet.get());
    if (ours) CONTINUO_CHECK(drain(*decoder, *frame, collector));
  }
  ffmpeg().avcodec_send_packet(decoder.get(), nullptr);
  CONTINUO_CHECK(drain(*decoder, *frame, collector));
  CONTINUO_TRY(Sound sound, collector.finish());
  return SoundEnd{std::move(sound), collector.skipped_seconds()};
}

Wanted end_of(double seconds) {
  Wanted wanted;
  wanted.limits.seconds = max_seconds_before_end;
  wanted.last_seconds = seconds;
  return wanted;
}

}  // namespace

std::int64_t SoundEnd::whole_frames(int rate) const {
  return skipped_seconds * rate + (sound.frames() * rate + sound.sample_rate - 1) / sound.sample_rate;
}

Result<Sound> decode_media(std::span<const std::byte> bytes, const std::string& name, const MediaLimits& limits) {
  CONTINUO_TRY(SoundEnd whole, decode({.bytes = bytes}, name, {.limits = limits}));
  return std::move(whole.sound);
}

Result<Sound> read_media(const std::string& path, const MediaLimits& limits) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  CONTINUO_TRY(SoundEnd whole, decode({.bytes = file.bytes(), .file = &file}, path, {.limits = limits}));
  return std::move(whole.sound);
}

Result<SoundEnd> decode_media_end(std::span<const std::byte> bytes, const std::string& name, double seconds) {
  return decode({.bytes = bytes}, name, end_of(seconds));
}

Result<SoundEnd> read_media_end(const std::string& path, double seconds) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  return decode({.bytes = file.bytes(), .file = &file}, path, end_of(seconds));
}

}  // namespace continuo::audio
