#include "audio/ffmpeg_encoder.h"

#include <algorithm>
#include <cstring>

#include "audio/ffmpeg.h"

namespace continuo::audio {

namespace {

constexpr int io_buffer_bytes = 1 << 15;

#if LIBAVFORMAT_VERSION_MAJOR >= 61
using WrittenByte = const std::uint8_t;
#else
using WrittenByte = std::uint8_t;
#endif

/// What FFmpeg writes to. Its callbacks know no errors of ours, so the first one waits here.
class Output {
 public:
  explicit Output(ByteSink sink) : sink_(std::move(sink)) {}

  bool seekable() const { return sink_.overwrite != nullptr; }
  const Status& status() const { return outcome_; }

  static int write(void* opaque, WrittenByte* data, int size) {
    auto& output = *static_cast<Output*>(opaque);
    if (output.outcome_) output.outcome_ = output.put({reinterpret_cast<const std::byte*>(data), static_cast<std::size_t>(size)});
    return output.outcome_ ? size : AVERROR(EIO);
  }

  static std::int64_t seek(void* opaque, std::int64_t offset, int whence) {
    auto& output = *static_cast<Output*>(opaque);
    if (whence == AVSEEK_SIZE) return output.size_;
    const std::int64_t at = offset + (whence == SEEK_SET ? 0 : whence == SEEK_CUR ? output.at_ : output.size_);
    if (at < 0 || at > output.size_) return AVERROR(EINVAL);
    return output.at_ = at;
  }

 private:
  Status put(std::span<const std::byte> bytes) {
    const auto inside = static_cast<std::size_t>(std::min<std::int64_t>(size_ - at_, static_cast<std::int64_t>(bytes.size())));
    if (inside > 0) CONTINUO_CHECK(sink_.overwrite(at_, bytes.first(inside)));
    if (inside < bytes.size()) CONTINUO_CHECK(sink_.append(bytes.subspan(inside)));
    at_ += static_cast<std::int64_t>(bytes.size());
    size_ = std::max(size_, at_);
    return {};
  }

  ByteSink sink_;
  Status outcome_;
  std::int64_t at_ = 0, size_ = 0;
};

struct Recipe {
  const char* encoder;
  const char* library;  // what FFmpeg must have been built with; null: part of every FFmpeg
  const char* file_container;
  const char* stream_container;
  AVSampleFormat samples;
  int mono_bit_rate, stereo_bit_rate;
};

Recipe recipe_of(const EncoderOptions& options) {
  switch (options.format) {
    case FileFormat::flac:
      return {"flac", nullptr, "flac", "flac", options.samples == SampleFormat::pcm24 ? AV_SAMPLE_FMT_S32 : AV_SAMPLE_FMT_S16,
              0,      0};
    case FileFormat::mp3: return {"libmp3lame", "libmp3lame", "mp3", "mp3", AV_SAMPLE_FMT_FLTP, 0, 0};
    case FileFormat::m4a: return {"aac", nullptr, "ipod", "mp4", AV_SAMPLE_FMT_FLTP, 128'000, 192'000};
    default: return {"libopus", "libopus", "opus", "opus", AV_SAMPLE_FMT_FLT, 96'000, 160'000};
  }
}

tl::unexpected<Error> missing(const EncoderOptions& options, const Recipe& recipe) {
  return fail(ErrorCode::unsupported, "this FFmpeg cannot write {}: it was built without {}; install a full build, or choose wav",
              name_of(options.format), recipe.library != nullptr ? recipe.library : "that encoder");
}

tl::unexpected<Error> refused(const EncoderOptions& options) {
  return fail(ErrorCode::io, "FFmpeg failed to write {} with {} channels at {} Hz", name_of(options.format), options.channels,
              options.sample_rate);
}

class FfmpegEncoder : public Encoder {
 public:
  FfmpegEncoder(const EncoderOptions& options, ByteSink sink)
      : Encoder(options), recipe_(recipe_of(options)), output_(std::move(sink)) {}

  Status begin() {
    const AVCodec* const codec = ffmpeg().avcodec_find_encoder_by_name(recipe_.encoder);
    if (codec == nullptr) return missing(options(), recipe_);
    const char* const name = output_.seekable() ? recipe_.file_container : recipe_.stream_container;
    AVFormatContext* container = nullptr;
    if (ffmpeg().avformat_alloc_output_context2(&container, nullptr, name, nullptr) < 0) return missing(options(), recipe_);
    container_.reset(container);
    CONTINUO_CHECK(open_codec(*codec));
    open_io();
    return write_header();
  }

 private:
  Status open_codec(const AVCodec& codec) {
    encoder_.reset(ffmpeg().avcodec_alloc_context3(&codec));
    const bool stereo = options().channels == 2;
    encoder_->sample_fmt = recipe_.samples;
    encoder_->sample_rate = options().sample_rate;
    ffmpeg().av_channel_layout_default(&encoder_->ch_layout, options().channels);
    encoder_->time_base = {1, options().sample_rate};
    encoder_->bit_rate = options().bit_rate > 0 ? options().bit_rate : stereo ? recipe_.stereo_bit_rate : recipe_.mono_bit_rate;
    if (options().format == FileFormat::mp3 && options().bit_rate <= 0) {
      // LAME's own scale of qualities, where 2 is its usual best. At constant rates below 256 kbit/s it turns the level down.
      encoder_->flags |= AV_CODEC_FLAG_QSCALE;
      encoder_->global_quality = 2 * FF_QP2LAMBDA;
    }
    if (options().samples == SampleFormat::pcm24) encoder_->bits_per_raw_sample = 24;
    encoder_->flags |= AV_CODEC_FLAG_BITEXACT;  // no version numbers in the file
    if (container_->oformat->flags & AVFMT_GLOBALHEADER) encoder_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER;
    if (ffmpeg().avcodec_open2(encoder_.get(), &codec, nullptr) < 0) return refused(options());
    AVStream* const stream = ffmpeg().avformat_new_stream(container_.get(), nullptr);
    if (stream == nullptr || ffmpeg().avcodec_parameters_from_context(stream->codecpar, encoder_.get()) < 0)
      return refused(options());
    stream->time_base = encoder_->time_base;
    return {};
  }

  void open_io() {
    auto* const buffer = static_cast<unsigned char*>(ffmpeg().av_malloc(io_buffer_bytes));
    io_.reset(ffmpeg().avio_alloc_context(buffer, io_buffer_bytes, 1, &output_, nullptr, Output::write,
                                          output_.seekable() ? Output::seek : nullptr));
    container_->pb = io_.get();
    container_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
    if (!output_.seekable()) container_->flags |= AVFMT_FLAG_FLUSH_PACKETS;  // a listener waits
  }

  Status write_header() {
    AVDictionary* words = nullptr;
    const auto set = [&](const char* name, const char* value) { ffmpeg().av_dict_set(&words, name, value, 0); };
    if (options().format == FileFormat::mp3) set("id3v2_version", "0");  // there is nothing to say in it
    container_->metadata_header_padding = 0;                             // of flac: 8 KiB of zeros for editors of tags
    // In samples, not in milliseconds, so that lengths are exact.
    if (options().format == FileFormat::m4a) set("movie_timescale", std::to_string(options().sample_rate).c_str());
    if (!output_.seekable() && options().format == FileFormat::m4a) {
      // delay_moov: the header waits for the first fragment, and then says how long the encoder's delay is.
      set("movflags", "frag_keyframe+empty_moov+default_base_moof+delay_moov");
      set("frag_duration", "500000");
    }
    if (!output_.seekable() && options().format == FileFormat::opus) set("page_duration", "200000");
    const int written = ffmpeg().avformat_write_header(container_.get(), &words);
    ffmpeg().av_dict_free(&words);
    return check(written);
  }

  Status check(int result) const {
    if (!output_.status()) return forward_error(output_.status().error());
    if (result < 0) return refused(options());
    return {};
  }

  Status write(std::span<const float> interleaved) override {
    const auto channels = static_cast<std::size_t>(options().channels);
    const std::size_t size = static_cast<std::size_t>(std::max(encoder_->frame_size, 1)) * channels;
    while (!interleaved.empty()) {
      const std::size_t count = std::min(interleaved.size(), size - waiting_.size());
      waiting_.insert(waiting_.end(), interleaved.begin(), interleaved.begin() + static_cast<std::ptrdiff_t>(count));
      interleaved = interleaved.subspan(count);
      if (waiting_.size() == size) CONTINUO_CHECK(encode());
    }
    return {};
  }

  Status end() override {
    if (!waiting_.empty()) CONTINUO_CHECK(encode());
    CONTINUO_CHECK(check(ffmpeg().avcodec_send_frame(encoder_.get(), nullptr)));
    CONTINUO_CHECK(drain());
    return check(ffmpeg().av_write_trailer(container_.get()));
  }

  /// One frame of the codec, of what is waiting.
  Status encode() {
    const Owned<AVFrame> frame(ffmpeg().av_frame_alloc(), [](AVFrame* owned) { ffmpeg().av_frame_free(&owned); });
    frame->format = encoder_->sample_fmt;
    frame->nb_samples = static_cast<int>(waiting_.size()) / options().channels;
    frame->sample_rate = encoder_->sample_rate;
    frame->pts = at_;
    ffmpeg().av_channel_layout_copy(&frame->ch_layout, &encoder_->ch_layout);
    if (ffmpeg().av_frame_get_buffer(frame.get(), 0) < 0) return refused(options());
    fill(*frame);
    at_ += frame->nb_samples;
    waiting_.clear();
    CONTINUO_CHECK(check(ffmpeg().avcodec_send_frame(encoder_.get(), frame.get())));
    return drain();
  }

  void fill(AVFrame& frame) const {
    const auto channels = static_cast<std::size_t>(options().channels);
    for (std::size_t i = 0; i < waiting_.size(); ++i) {
      switch (encoder_->sample_fmt) {
        case AV_SAMPLE_FMT_S16:
          reinterpret_cast<std::int16_t*>(frame.data[0])[i] = static_cast<std::int16_t>(quantised(waiting_[i], 16));
          break;
        case AV_SAMPLE_FMT_S32:  // 24 bits, at the top
          reinterpret_cast<std::int32_t*>(frame.data[0])[i] = quantised(waiting_[i], 24) * 256;
          break;
        case AV_SAMPLE_FMT_FLTP: reinterpret_cast<float*>(frame.data[i % channels])[i / channels] = waiting_[i]; break;
        default: reinterpret_cast<float*>(frame.data[0])[i] = waiting_[i]; break;
      }
    }
  }

  Status drain() {
    while (ffmpeg().avcodec_receive_packet(encoder_.get(), packet_.get()) >= 0) {
      packet_->stream_index = 0;
      ffmpeg().av_packet_rescale_ts(packet_.get(), encoder_->time_base, container_->streams[0]->time_base);
      const int written = ffmpeg().av_write_frame(container_.get(), packet_.get());
      ffmpeg().av_packet_unref(packet_.get());
      CONTINUO_CHECK(check(written));
    }
    return {};
  }

  Recipe recipe_;
  Output output_;
  Owned<AVIOContext> io_{nullptr, [](AVIOContext* context) {
                           ffmpeg().av_free(context->buffer);  // may be another one by now
                           ffmpeg().avio_context_free(&context);
                         }};
  Owned<AVFormatContext> container_{nullptr, [](AVFormatContext* context) { ffmpeg().avformat_free_context(context); }};
  Owned<AVCodecContext> encoder_{nullptr, [](AVCodecContext* context) { ffmpeg().avcodec_free_context(&context); }};
  Owned<AVPacket> packet_{ffmpeg().av_packet_alloc(), [](AVPacket* owned) { ffmpeg().av_packet_free(&owned); }};
  std::vector<float> waiting_;  // less than a frame of the codec
  std::int64_t at_ = 0;         // frames encoded
};

}  // namespace

Result<std::unique_ptr<Encoder>> make_ffmpeg_encoder(const EncoderOptions& options, ByteSink sink) {
  CONTINUO_CHECK(load_ffmpeg());
  auto encoder = std::make_unique<FfmpegEncoder>(options, std::move(sink));
  CONTINUO_CHECK(encoder->begin());
  return encoder;
}

}  // namespace continuo::audio
