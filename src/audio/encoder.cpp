#include "audio/encoder.h"

#include <algorithm>
#include <array>

#include "audio/bytes.h"
#include "audio/ffmpeg_encoder.h"

namespace continuo::audio {

namespace {

struct Name {
  std::string_view name;
  FileFormat format;
};
constexpr std::array names{Name{"wav", FileFormat::wav},   Name{"pcm", FileFormat::pcm}, Name{"raw", FileFormat::pcm},
                           Name{"flac", FileFormat::flac}, Name{"mp3", FileFormat::mp3}, Name{"m4a", FileFormat::m4a},
                           Name{"mp4", FileFormat::m4a},   Name{"aac", FileFormat::m4a}, Name{"opus", FileFormat::opus},
                           Name{"ogg", FileFormat::opus}};

/// WAV, and the same samples without a header.
class PlainEncoder : public Encoder {
 public:
  PlainEncoder(const EncoderOptions& options, ByteSink sink) : Encoder(options), sink_(std::move(sink)) {}

  Status begin() {
    if (options().format == FileFormat::pcm) return {};
    CONTINUO_TRY(const auto header, wav_header(options().frames, options().channels, options().sample_rate, options().samples));
    return sink_.append(header);
  }

 private:
  Status write(std::span<const float> interleaved) override {
    constexpr std::size_t piece = 1 << 16;  // so that a long clip does not lie in memory twice
    while (!interleaved.empty()) {
      const std::size_t count = std::min(piece, interleaved.size());
      bytes_.clear();
      append_samples(bytes_, interleaved.first(count), options().samples);
      CONTINUO_CHECK(sink_.append(bytes_));
      interleaved = interleaved.subspan(count);
    }
    return {};
  }

  Status end() override {
    const std::int64_t size = frames() * options().channels * bytes_of_sample(options().samples);
    if (options().format == FileFormat::pcm || !options().frames || size % 2 == 0) return {};
    const std::byte padding{0};  // a chunk's bytes are even
    return sink_.append({&padding, 1});
  }

  ByteSink sink_;
  std::vector<std::byte> bytes_;
};

Status check(const EncoderOptions& options) {
  const char* const name = name_of(options.format);
  const int rate = options.sample_rate;
  if (options.channels < 1 || options.channels > 2) {
    return fail(ErrorCode::invalid_argument, "{} channels cannot be written; 1 or 2 can", options.channels);
  }
  if (options.format == FileFormat::opus && rate != 48'000) {
    return fail(ErrorCode::invalid_argument, "opus has only a rate of 48000 Hz, not {}", rate);
  }
  const bool fixed_rates = options.format == FileFormat::mp3 || options.format == FileFormat::m4a;
  if (fixed_rates && rate != 32'000 && rate != 44'100 && rate != 48'000) {
    return fail(ErrorCode::invalid_argument, "{} can be written at 32000, 44100 or 48000 Hz, not {}", name, rate);
  }
  if (options.format == FileFormat::flac && (rate < 8000 || rate > 192'000)) {
    return fail(ErrorCode::invalid_argument, "flac can be written at 8000 to 192000 Hz, not {}", rate);
  }
  if (options.format == FileFormat::flac && options.samples == SampleFormat::float32) {
    return fail(ErrorCode::invalid_argument, "flac holds samples of 16 or 24 bits; for 32-bit floats take wav");
  }
  if (options.format == FileFormat::pcm && options.samples != SampleFormat::pcm16) {
    return fail(ErrorCode::invalid_argument, "raw samples are written with 16 bits; for others take wav");
  }
  if (options.format == FileFormat::wav && !options.frames && !options.unknown_length) {
    return fail(ErrorCode::invalid_argument, "a WAV file states its length at its beginning, and it is not known yet");
  }
  return {};
}

}  // namespace

std::optional<FileFormat> file_format_from_name(std::string_view name) {
  const auto found = std::find_if(names.begin(), names.end(), [&](const Name& entry) { return entry.name == name; });
  if (found == names.end()) return std::nullopt;
  return found->format;
}

const char* name_of(FileFormat format) {
  switch (format) {
    case FileFormat::wav: return "wav";
    case FileFormat::pcm: return "pcm";
    case FileFormat::flac: return "flac";
    case FileFormat::mp3: return "mp3";
    case FileFormat::m4a: return "m4a";
    case FileFormat::opus: return "opus";
  }
  return "";
}

bool is_lossy(FileFormat format) { return format == FileFormat::mp3 || format == FileFormat::m4a || format == FileFormat::opus; }

const char* media_type_of(FileFormat format) {
  switch (format) {
    case FileFormat::wav: return "audio/wav";
    case FileFormat::pcm: return "application/octet-stream";
    case FileFormat::flac: return "audio/flac";
    case FileFormat::mp3: return "audio/mpeg";
    case FileFormat::m4a: return "audio/mp4";
    case FileFormat::opus: return "audio/ogg";
  }
  return "";
}

ByteSink sink_of(AtomicFile& file) {
  return {[&file](std::span<const std::byte> bytes) { return file.write(bytes); },
          [&file](std::int64_t offset, std::span<const std::byte> bytes) { return file.overwrite(offset, bytes); }};
}

Result<std::unique_ptr<Encoder>> Encoder::create(const EncoderOptions& options, ByteSink sink) {
  CONTINUO_CHECK(check(options));
  if (options.format != FileFormat::wav && options.format != FileFormat::pcm)
    return make_ffmpeg_encoder(options, std::move(sink));
  auto encoder = std::make_unique<PlainEncoder>(options, std::move(sink));
  CONTINUO_CHECK(encoder->begin());
  return encoder;
}

Status Encoder::push(std::span<const float> interleaved) {
  const auto channels = static_cast<std::size_t>(options_.channels);
  if (interleaved.size() % channels != 0) {
    return fail(ErrorCode::invalid_argument, "{} samples cannot be written as {} channels", interleaved.size(), channels);
  }
  CONTINUO_CHECK(check_finite(interleaved, frames_ * options_.channels));
  frames_ += static_cast<std::int64_t>(interleaved.size() / channels);
  if (options_.frames && frames_ > *options_.frames) {
    return fail(ErrorCode::invalid_argument, "more audio came than the {} frames that were announced", *options_.frames);
  }
  return write(interleaved);
}

Status Encoder::finish() {
  if (options_.frames && frames_ != *options_.frames) {
    return fail(ErrorCode::invalid_argument, "{} frames of audio came where {} were announced", frames_, *options_.frames);
  }
  if (frames_ == 0 && options_.format != FileFormat::wav && options_.format != FileFormat::pcm) {
    return fail(ErrorCode::invalid_argument, "there is no audio to write");
  }
  return end();
}

Status check_encoder(const EncoderOptions& options) {
  EncoderOptions any = options;
  any.frames = any.frames.value_or(1);
  const ByteSink nowhere{[](std::span<const std::byte>) { return Status(); },
                         [](std::int64_t, std::span<const std::byte>) { return Status(); }};
  return Encoder::create(any, nowhere).map([](const auto&) {});
}

Status write_audio(const std::string& path, const Sound& sound, EncoderOptions options) {
  options.channels = sound.channels;
  options.sample_rate = sound.sample_rate;
  options.frames = sound.frames();
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(path));
  CONTINUO_TRY(const auto encoder, Encoder::create(options, sink_of(file)));
  CONTINUO_CHECK(encoder->push(sound.samples));
  CONTINUO_CHECK(encoder->finish());
  return file.commit();
}

}  // namespace continuo::audio
