#include "audio/encoder.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <random>

#include "audio/bytes.h"
#include "audio/media.h"

namespace continuo::audio {
namespace {

/// Silence, then at once soft noise over a tone, another one in each channel: its place in time is unmistakable.
Sound music(int rate, int channels, std::int64_t frames) {
  Sound sound{{}, channels, rate};
  std::mt19937 random(5);
  std::vector<double> noise(static_cast<std::size_t>(channels));
  for (std::int64_t i = 0; i < frames; ++i) {
    const double t = static_cast<double>(i) / rate;
    for (std::size_t c = 0; c < noise.size(); ++c) {
      const double white = static_cast<double>(random()) / 2147483648.0 - 1.0;
      noise[c] += 0.2 * (white - noise[c]);  // little treble, as lossy formats keep
      const double value = 0.6 * noise[c] + 0.2 * std::sin((static_cast<double>(c) + 1.0) * 2764.6 * t);
      sound.samples.push_back(t < 0.25 ? 0.0F : static_cast<float>(value));
    }
  }
  return sound;
}

EncoderOptions options_for(FileFormat format, const Sound& sound) {
  EncoderOptions options;
  options.format = format;
  options.channels = sound.channels;
  options.sample_rate = sound.sample_rate;
  options.frames = sound.frames();
  return options;
}

struct Encoded {
  std::vector<std::byte> bytes;
  std::size_t before_finish = 0;
};

Encoded encoded(const Sound& sound, const EncoderOptions& options, bool seekable, std::size_t piece) {
  Encoded result;
  ByteSink sink{[&](std::span<const std::byte> bytes) {
    result.bytes.insert(result.bytes.end(), bytes.begin(), bytes.end());
    return Status();
  }};
  if (seekable) {
    sink.overwrite = [&](std::int64_t offset, std::span<const std::byte> bytes) {
      EXPECT_LE(static_cast<std::size_t>(offset) + bytes.size(), result.bytes.size());
      std::copy(bytes.begin(), bytes.end(), result.bytes.begin() + offset);
      return Status();
    };
  }
  const auto encoder = Encoder::create(options, sink);
  EXPECT_TRUE(encoder) << encoder.error().message;
  if (!encoder) return result;
  piece *= static_cast<std::size_t>(sound.channels);
  for (std::size_t at = 0; at < sound.samples.size(); at += piece) {
    const auto status = (*encoder)->push(std::span(sound.samples).subspan(at, std::min(piece, sound.samples.size() - at)));
    EXPECT_TRUE(status) << status.error().message;
  }
  result.before_finish = result.bytes.size();
  const auto status = (*encoder)->finish();
  EXPECT_TRUE(status) << status.error().message;
  return result;
}

/// How many frames `got` lies behind `want`, where they are most alike: by the 0.1 s around the onset.
std::int64_t lag(const Sound& want, const Sound& got) {
  const std::int64_t begin = want.sample_rate / 5, end = begin + want.sample_rate / 10;
  std::int64_t best = 0;
  double highest = -1.0;
  for (std::int64_t shift = -1300; shift <= 1300; ++shift) {
    double sum = 0.0;
    for (std::int64_t i = begin; i < end && i + shift < got.frames(); ++i) {
      sum += static_cast<double>(want.samples[static_cast<std::size_t>(i * want.channels)]) *
             got.samples[static_cast<std::size_t>((i + shift) * got.channels)];
    }
    if (sum > highest) {
      highest = sum;
      best = shift;
    }
  }
  return best;
}

/// How often a word stands in a file.
std::ptrdiff_t count(const std::vector<std::byte>& bytes, std::string_view word) {
  const std::string_view text = text_at(bytes, 0, bytes.size());
  std::ptrdiff_t found = 0;
  for (auto at = text.find(word); at != std::string_view::npos; at = text.find(word, at + 1)) ++found;
  return found;
}

double energy(const Sound& sound) {
  double sum = 0.0;
  for (const float sample : sound.samples) sum += static_cast<double>(sample) * sample;
  return sum;
}

TEST(Encoder, LosslessFormatsReturnTheSamples) {
  for (const int channels : {1, 2}) {
    const Sound sound = music(32'000, channels, 20'001);
    for (const auto& [format, samples] : {std::pair{FileFormat::wav, SampleFormat::pcm16},
                                          {FileFormat::wav, SampleFormat::pcm24},
                                          {FileFormat::wav, SampleFormat::float32},
                                          {FileFormat::flac, SampleFormat::pcm16},
                                          {FileFormat::flac, SampleFormat::pcm24}}) {
      EncoderOptions options = options_for(format, sound);
      options.samples = samples;
      const auto whole = encode_wav(sound.samples, channels, 32'000, samples);
      const auto want = decode_wav(*whole, "want");
      for (const bool seekable : {false, true}) {
        const auto file = encoded(sound, options, seekable, 1000);
        if (format == FileFormat::wav) {
          EXPECT_EQ(file.bytes, *whole);
        }
        const auto got = decode_media(file.bytes, "x");
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->sample_rate, 32'000);
        EXPECT_EQ(got->channels, channels);
        EXPECT_EQ(got->samples, want->samples) << name_of(format) << seekable;
      }
    }
  }
}

struct Lossy {
  FileFormat format;
  bool file;
  std::int64_t lag, most_longer;  // frames
};

TEST(Encoder, LossyFormatsKeepTimeLengthAndLevel) {
  // What containers say of the encoder's delay is heard to the frame. An MP3 stream says nothing; of a fragmented MP4 FFmpeg's
  // reader ignores it. AAC's last packet is not cut.
  for (const auto& [format, file, late, most_longer] :
       {Lossy{FileFormat::mp3, true, 0, 0}, Lossy{FileFormat::mp3, false, 1105, 1105 + 1152},
        Lossy{FileFormat::m4a, true, 0, 1023}, Lossy{FileFormat::m4a, false, 1024, 2047}, Lossy{FileFormat::opus, true, 0, 0},
        Lossy{FileFormat::opus, false, 0, 0}}) {
    for (const int rate : {32'000, 44'100, 48'000}) {
      if (format == FileFormat::opus && rate != 48'000) continue;
      for (const int channels : {1, 2}) {
        SCOPED_TRACE(fmt::format("{} {} {} {}", name_of(format), file, rate, channels));
        const Sound sound = music(rate, channels, rate / 2 + 123);
        const auto got = decode_media(encoded(sound, options_for(format, sound), file, 1000).bytes, "x");
        ASSERT_TRUE(got) << got.error().message;
        EXPECT_EQ(got->sample_rate, rate);
        EXPECT_EQ(got->channels, channels);
        EXPECT_GE(got->frames(), sound.frames());
        EXPECT_LE(got->frames(), sound.frames() + most_longer);
        EXPECT_EQ(lag(sound, *got), late);
        EXPECT_NEAR(10.0 * std::log10(energy(*got) / energy(sound)), 0.0, 0.2);
      }
    }
  }
}

TEST(Encoder, PiecesDoNotMatter) {
  const Sound sound = music(48'000, 2, 9999);
  for (const auto format :
       {FileFormat::wav, FileFormat::pcm, FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    const auto whole = encoded(sound, options_for(format, sound), true, 9999).bytes;
    EXPECT_EQ(encoded(sound, options_for(format, sound), true, 1).bytes, whole) << name_of(format);
    EXPECT_EQ(encoded(sound, options_for(format, sound), true, 777).bytes, whole) << name_of(format);
  }
}

TEST(Encoder, StreamsGiveBytesOnTheWay) {
  const Sound sound = music(48'000, 1, 48'000 * 3);
  for (const auto format :
       {FileFormat::wav, FileFormat::pcm, FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    const auto stream = encoded(sound, options_for(format, sound), false, 4800);
    EXPECT_GT(stream.before_finish, stream.bytes.size() * 3 / 4) << name_of(format);
    if (format != FileFormat::m4a) continue;
    EXPECT_GE(count(stream.bytes, "moof"), 5);
    EXPECT_EQ(count(stream.bytes, "elst"), 1);  // the encoder's delay
  }
}

TEST(Encoder, OneSampleAndNone) {
  for (const auto format :
       {FileFormat::wav, FileFormat::pcm, FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    for (const bool file : {false, true}) {
      const Sound sound{{0.25F, -0.25F}, 2, 48'000};
      const auto bytes = encoded(sound, options_for(format, sound), file, 1).bytes;
      if (format == FileFormat::pcm) {
        EXPECT_EQ(bytes, (std::vector{std::byte{0}, std::byte{0x20}, std::byte{0}, std::byte{0xE0}}));
        continue;
      }
      const auto got = decode_media(bytes, "x");
      ASSERT_TRUE(got) << name_of(format) << file << got.error().message;
      EXPECT_GE(got->frames(), 1);
    }
    EncoderOptions options;
    options.format = format;
    options.sample_rate = 48'000;
    options.unknown_length = true;
    const auto empty = Encoder::create(options, {[](std::span<const std::byte>) { return Status(); }});
    ASSERT_TRUE(empty) << empty.error().message;
    EXPECT_EQ((*empty)->finish().has_value(), format == FileFormat::wav || format == FileFormat::pcm);
  }
}

TEST(Encoder, WavSaysItsLengthOrThatItIsUnknown) {
  EncoderOptions options;
  const auto nowhere = [](std::span<const std::byte>) { return Status(); };
  EXPECT_FALSE(Encoder::create(options, {nowhere}));
  options.unknown_length = true;
  std::vector<std::byte> bytes;
  const auto stream = Encoder::create(options, {[&](std::span<const std::byte> more) {
                                        bytes.insert(bytes.end(), more.begin(), more.end());
                                        return Status();
                                      }});
  const std::vector<float> samples{0.5F, -0.5F, 0.25F};
  ASSERT_TRUE((*stream)->push(samples));
  ASSERT_TRUE((*stream)->finish());
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 4), 0xFFFFFFFFU);
  const auto got = decode_media(bytes, "x");
  ASSERT_TRUE(got) << got.error().message;
  EXPECT_EQ(got->samples, samples);

  options.frames = 2;
  const auto two = Encoder::create(options, {nowhere});
  EXPECT_FALSE((*two)->push(samples));
  const auto also_two = Encoder::create(options, {nowhere});
  ASSERT_TRUE((*also_two)->push(std::span(samples).first(1)));
  EXPECT_FALSE((*also_two)->finish());
  options.frames = std::int64_t{1} << 31;
  EXPECT_EQ(Encoder::create(options, {nowhere}).error().code, ErrorCode::unsupported);
}

TEST(Encoder, RefusesWhatAFormatCannotHold) {
  struct Case {
    FileFormat format;
    int channels, rate;
    SampleFormat samples;
  };
  for (const auto& [format, channels, rate, samples] :
       {Case{FileFormat::opus, 1, 32'000, SampleFormat::pcm16}, Case{FileFormat::mp3, 1, 96'000, SampleFormat::pcm16},
        Case{FileFormat::m4a, 1, 31'999, SampleFormat::pcm16}, Case{FileFormat::flac, 1, 48'000, SampleFormat::float32},
        Case{FileFormat::pcm, 1, 48'000, SampleFormat::pcm24}, Case{FileFormat::wav, 3, 48'000, SampleFormat::pcm16}}) {
    EncoderOptions options;
    options.format = format;
    options.channels = channels;
    options.sample_rate = rate;
    options.samples = samples;
    const auto status = check_encoder(options);
    ASSERT_FALSE(status) << name_of(format);
    EXPECT_EQ(status.error().code, ErrorCode::invalid_argument);
  }
  EncoderOptions options;
  options.sample_rate = 48'000;
  options.format = FileFormat::opus;
  EXPECT_TRUE(check_encoder(options));
}

TEST(Encoder, RefusesSamplesThatAreNotFinite) {
  Sound sound{std::vector<float>(100), 1, 32'000};
  const auto encoder =
      Encoder::create(options_for(FileFormat::flac, sound), {[](std::span<const std::byte>) { return Status(); }});
  ASSERT_TRUE((*encoder)->push(sound.samples));
  sound.samples[7] = std::numeric_limits<float>::infinity();
  const auto status = (*encoder)->push(std::span(sound.samples).first(0));
  EXPECT_TRUE(status);
  EXPECT_EQ((*encoder)->push(std::span(sound.samples)).error().message,
            "sample 107 of the audio is not a finite number, so it was not written");
}

TEST(Encoder, ASinkThatFailsIsTheErrorThatComesBack) {
  const Sound sound = music(48'000, 1, 48'000);
  for (const auto format :
       {FileFormat::wav, FileFormat::pcm, FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    std::size_t room = 3000;
    const auto sink = [&](std::span<const std::byte> bytes) -> Status {
      if (bytes.size() > room) return fail(ErrorCode::io, "the listener left");
      room -= bytes.size();
      return {};
    };
    const auto encoder = Encoder::create(options_for(format, sound), {sink});
    ASSERT_TRUE(encoder) << name_of(format) << encoder.error().message;
    Status status = (*encoder)->push(sound.samples);
    if (status) status = (*encoder)->finish();
    ASSERT_FALSE(status) << name_of(format);
    EXPECT_EQ(status.error().message, "the listener left");
  }
}

TEST(Encoder, FilesAreThereWhenComplete) {
  const auto folder = std::filesystem::temp_directory_path() / fmt::format("continuo_encoder_{}", ::getpid());
  std::filesystem::create_directories(folder);
  const Sound sound = music(44'100, 2, 30'000);
  for (const auto format : {FileFormat::wav, FileFormat::flac, FileFormat::mp3, FileFormat::m4a}) {
    const std::string path = folder / fmt::format("a.{}", name_of(format));
    EncoderOptions options;
    options.format = format;
    const auto status = write_audio(path, sound, options);
    ASSERT_TRUE(status) << status.error().message;
    const auto got = read_media(path);
    ASSERT_TRUE(got) << got.error().message;
    EXPECT_NEAR(static_cast<double>(got->frames()), 30'000.0, format == FileFormat::m4a ? 1024.0 : 0.0) << name_of(format);
  }
  Sound bad = sound;
  bad.samples.back() = NAN;
  EXPECT_FALSE(write_audio(folder / "b.flac", bad, options_for(FileFormat::flac, bad)));
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder), {}), 4);
  std::filesystem::remove_all(folder);
}

TEST(Encoder, Names) {
  EXPECT_EQ(file_format_from_name("aac"), FileFormat::m4a);
  EXPECT_EQ(file_format_from_name("ogg"), FileFormat::opus);
  EXPECT_EQ(file_format_from_name("wma"), std::nullopt);
  for (const auto format :
       {FileFormat::wav, FileFormat::pcm, FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    EXPECT_EQ(file_format_from_name(name_of(format)), format);
    EXPECT_NE(std::string(media_type_of(format)), "");
  }
}

}  // namespace
}  // namespace continuo::audio
