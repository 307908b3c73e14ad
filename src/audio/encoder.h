// Sound to the bytes of a file or a stream, as it comes: an encoder takes interleaved floats piece by piece and hands bytes to a
// sink as soon as they are made.
//
// | format | by         | rates             | as a file                     | as a stream                                      |
// |--------|------------|-------------------|-------------------------------|--------------------------------------------------|
// | wav    | ourselves  | all               | true sizes                    | true sizes if the length is known, see below     |
// | pcm    | ourselves  | all               | 16-bit little-endian samples  | the same                                         |
// | flac   | FFmpeg     | 8 to 192 kHz      | exact                         | samples exact, length and checksum not stated    |
// | mp3    | libmp3lame | 32, 44.1, 48 kHz  | plays at its exact length     | begins late by the encoder's delay, 1105 frames |
// | m4a    | FFmpeg AAC | 32, 44.1, 48 kHz  | ordinary MP4                  | fragmented MP4, half a second each, see below    |
// | opus   | libopus    | 48 kHz            | exact length                  | the same; Ogg pages of a fifth of a second       |
//
// A file's header is completed at the end, which takes a sink that can overwrite; without one what is written is for streaming.
// A fragmented MP4 says in an edit list that its first 1024 frames are the encoder's delay; not every player listens.
// Integer samples are clamped and rounded as in audio/wav.h. The same samples give the same bytes, however they are cut into
// pieces. Samples that are not finite are an error. Without FFmpeg wav and pcm work.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "audio/wav.h"
#include "base/error.h"
#include "base/file.h"

namespace continuo::audio {

enum class FileFormat { wav, pcm, flac, mp3, m4a, opus };

/// "wav", "pcm", "flac", "mp3", "m4a", "opus"; also what people call them: "raw", "aac", "mp4", "ogg".
std::optional<FileFormat> file_format_from_name(std::string_view name);
const char* name_of(FileFormat format);
bool is_lossy(FileFormat format);
/// What browsers and servers call it: "audio/flac".
const char* media_type_of(FileFormat format);

struct EncoderOptions {
  FileFormat format = FileFormat::wav;
  SampleFormat samples = SampleFormat::pcm16;  // of wav (all), flac (16 and 24); pcm is 16, the others have none
  int channels = 1;
  int sample_rate = 32'000;
  int bit_rate = 0;  // of lossy formats, bits a second; 0: a good one
  /// Of the whole; wav needs it. Another number of frames in the end is an error.
  std::optional<std::int64_t> frames;
  /// A wav stream may say "unknown" where the sizes belong.
  bool unknown_length = false;
};

struct ByteSink {
  std::function<Status(std::span<const std::byte>)> append;
  /// Over bytes that were appended before. Empty for pipes and sockets.
  std::function<Status(std::int64_t offset, std::span<const std::byte>)> overwrite = {};
};

/// file must outlive the sink. Nothing is there before its commit().
ByteSink sink_of(AtomicFile& file);

class Encoder {
 public:
  /// Refuses what the format cannot hold; FFmpeg or one of its encoders missing is `unsupported`, with what to install.
  static Result<std::unique_ptr<Encoder>> create(const EncoderOptions& options, ByteSink sink);
  virtual ~Encoder() = default;

  /// interleaved: [frames, channels].
  Status push(std::span<const float> interleaved);
  /// Once, after the last push(). Errors: not the announced number of frames; none at all, but for wav and pcm.
  Status finish();

 protected:
  explicit Encoder(const EncoderOptions& options) : options_(options) {}
  const EncoderOptions& options() const { return options_; }
  std::int64_t frames() const { return frames_; }

 private:
  virtual Status write(std::span<const float> interleaved) = 0;
  virtual Status end() = 0;

  EncoderOptions options_;
  std::int64_t frames_ = 0;
};

/// Whether an encoder could be made, found out before there is anything to encode.
Status check_encoder(const EncoderOptions& options);

/// A whole sound as a file, complete or not at all. Of options, channels, rate and frames are the sound's.
Status write_audio(const std::string& path, const Sound& sound, EncoderOptions options);

}  // namespace continuo::audio
