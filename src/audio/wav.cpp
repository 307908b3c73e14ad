#include "audio/wav.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "audio/bytes.h"
#include "base/file.h"

namespace continuo::audio {

namespace {

constexpr std::uint16_t tag_pcm = 1;
constexpr std::uint16_t tag_float = 3;
constexpr std::uint16_t tag_extensible = 0xFFFE;
constexpr int max_channels = 8;
constexpr std::uint32_t max_sample_rate = 768'000;

struct Format {
  std::uint16_t tag = 0;
  int channels = 0;
  int sample_rate = 0;
  int bits = 0;
};

/// The `fmt ` chunk: 16 bytes, 18 with an empty extension, or 40 with the extensible one, whose real tag starts its GUID.
Result<Format> parse_format(std::span<const std::byte> chunk, const std::string& name) {
  if (chunk.size() < 16) return fail(ErrorCode::corrupt_file, "{}: its format description is cut short", name);
  Format format;
  format.tag = read_at<std::uint16_t>(chunk, 0);
  format.channels = read_at<std::uint16_t>(chunk, 2);
  const auto rate = read_at<std::uint32_t>(chunk, 4);
  const int block = read_at<std::uint16_t>(chunk, 12);
  format.bits = read_at<std::uint16_t>(chunk, 14);
  if (format.tag == tag_extensible) {
    if (chunk.size() < 40) return fail(ErrorCode::corrupt_file, "{}: its format description is cut short", name);
    format.tag = read_at<std::uint16_t>(chunk, 24);
  }
  const bool known = (format.tag == tag_pcm && (format.bits == 16 || format.bits == 24 || format.bits == 32)) ||
                     (format.tag == tag_float && format.bits == 32);
  if (!known) {
    return fail(ErrorCode::unsupported, "{}: WAV format {} with {} bits is not one that can be read (16, 24, 32, 32-bit float)",
                name, format.tag, format.bits);
  }
  if (format.channels < 1 || format.channels > max_channels) {
    return fail(ErrorCode::unsupported, "{}: {} channels; between 1 and {} can be read", name, format.channels, max_channels);
  }
  if (rate < 1 || rate > max_sample_rate) return fail(ErrorCode::corrupt_file, "{}: a sample rate of {} Hz", name, rate);
  if (block != format.channels * format.bits / 8) {
    return fail(ErrorCode::corrupt_file, "{}: its block size {} contradicts {} channels of {} bits", name, block, format.channels,
                format.bits);
  }
  format.sample_rate = static_cast<int>(rate);
  return format;
}

float sample_at(std::span<const std::byte> data, std::size_t offset, const Format& format) {
  if (format.tag == tag_float) return read_at<float>(data, offset);
  switch (format.bits) {
    case 16: return static_cast<float>(read_at<std::int16_t>(data, offset)) / 32768.0F;
    case 24: {
      // The three bytes go to the top of a 32-bit integer, so that the sign comes out right.
      const std::uint32_t low = read_at<std::uint16_t>(data, offset);
      const std::uint32_t high = read_at<std::uint8_t>(data, offset + 2);
      return static_cast<float>(static_cast<std::int32_t>((low << 8) | (high << 24)) / 256) / 8388608.0F;
    }
    default: return static_cast<float>(read_at<std::int32_t>(data, offset)) / 2147483648.0F;
  }
}

}  // namespace

std::optional<SampleFormat> sample_format_from_name(std::string_view name) {
  if (name == "16") return SampleFormat::pcm16;
  if (name == "24") return SampleFormat::pcm24;
  if (name == "32f") return SampleFormat::float32;
  return std::nullopt;
}

int bytes_of_sample(SampleFormat format) {
  switch (format) {
    case SampleFormat::pcm16: return 2;
    case SampleFormat::pcm24: return 3;
    case SampleFormat::float32: return 4;
  }
  return 0;
}

std::int32_t quantised(float sample, int bits) {
  const float scale = std::ldexp(1.0F, bits - 1);
  return static_cast<std::int32_t>(std::lrint(std::clamp(sample * scale, -scale, scale - 1.0F)));
}

Result<std::vector<std::byte>> wav_header(std::optional<std::int64_t> frames, int channels, int sample_rate,
                                          SampleFormat format) {
  if (channels < 1 || channels > 2) return fail(ErrorCode::invalid_argument, "{} channels cannot be written", channels);
  if (sample_rate < 1 || sample_rate > static_cast<int>(max_sample_rate)) {
    return fail(ErrorCode::invalid_argument, "a sample rate of {} Hz cannot be written", sample_rate);
  }
  const bool is_float = format == SampleFormat::float32;
  const int width = bytes_of_sample(format);
  constexpr std::uint32_t unknown = std::numeric_limits<std::uint32_t>::max();
  // A format other than PCM carries an (empty) extension and a `fact` chunk with the number of frames.
  const std::uint32_t header_size = is_float ? 4 + 8 + 18 + 8 + 4 + 8 : 4 + 8 + 16 + 8;
  const auto frame_bytes = static_cast<std::uint64_t>(channels * width);
  const auto count = static_cast<std::uint64_t>(frames.value_or(0));
  if (count > unknown / frame_bytes || header_size + count * frame_bytes + 1 > unknown) {
    return fail(ErrorCode::unsupported, "the audio is too long for a WAV file, which ends at 4 GiB");
  }
  const std::uint64_t data_size = count * frame_bytes;
  std::vector<std::byte> out;
  out.reserve(header_size + 8);
  append_text(out, "RIFF");
  append(out, frames ? static_cast<std::uint32_t>(header_size + data_size + data_size % 2) : unknown);
  append_text(out, "WAVEfmt ");
  append(out, std::uint32_t{is_float ? 18U : 16U});
  append(out, is_float ? tag_float : tag_pcm);
  append(out, static_cast<std::uint16_t>(channels));
  append(out, static_cast<std::uint32_t>(sample_rate));
  append(out, static_cast<std::uint32_t>(sample_rate * channels * width));
  append(out, static_cast<std::uint16_t>(channels * width));
  append(out, static_cast<std::uint16_t>(8 * width));
  if (is_float) {
    append(out, std::uint16_t{0});
    append_text(out, "fact");
    append(out, std::uint32_t{4});
    append(out, frames ? static_cast<std::uint32_t>(count) : unknown);
  }
  append_text(out, "data");
  append(out, frames ? static_cast<std::uint32_t>(data_size) : unknown);
  return out;
}

void append_samples(std::vector<std::byte>& out, std::span<const float> samples, SampleFormat format) {
  for (const float sample : samples) {
    switch (format) {
      case SampleFormat::pcm16: append(out, static_cast<std::int16_t>(quantised(sample, 16))); break;
      case SampleFormat::pcm24: {
        const auto bits = static_cast<std::uint32_t>(quantised(sample, 24));
        append(out, static_cast<std::uint16_t>(bits & 0xFFFFU));
        append(out, static_cast<std::uint8_t>((bits >> 16) & 0xFFU));
        break;
      }
      case SampleFormat::float32: append(out, sample); break;
    }
  }
}

Status check_finite(std::span<const float> samples, std::int64_t before) {
  const auto bad = std::find_if_not(samples.begin(), samples.end(), [](float sample) { return std::isfinite(sample); });
  if (bad == samples.end()) return {};
  return fail(ErrorCode::invalid_argument, "sample {} of the audio is not a finite number, so it was not written",
              before + (bad - samples.begin()));
}

Result<std::vector<std::byte>> encode_samples(std::span<const float> samples, SampleFormat format) {
  CONTINUO_CHECK(check_finite(samples));
  std::vector<std::byte> out;
  out.reserve(samples.size() * static_cast<std::size_t>(bytes_of_sample(format)));
  append_samples(out, samples, format);
  return out;
}

Result<std::vector<std::byte>> encode_wav(std::span<const float> samples, int channels, int sample_rate, SampleFormat format) {
  if (channels < 1 || channels > 2 || samples.size() % static_cast<std::size_t>(channels) != 0) {
    return fail(ErrorCode::invalid_argument, "{} samples cannot be written as {} channels", samples.size(), channels);
  }
  const auto frames = static_cast<std::int64_t>(samples.size()) / channels;
  CONTINUO_TRY(std::vector<std::byte> out, wav_header(frames, channels, sample_rate, format));
  CONTINUO_CHECK(check_finite(samples));
  out.reserve(out.size() + samples.size() * static_cast<std::size_t>(bytes_of_sample(format)) + 1);
  append_samples(out, samples, format);
  if (samples.size() * static_cast<std::size_t>(bytes_of_sample(format)) % 2 != 0) append(out, std::uint8_t{0});
  return out;
}

Status write_wav(const std::string& path, std::span<const float> samples, int channels, int sample_rate, SampleFormat format) {
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(path));
  CONTINUO_TRY(const auto bytes, encode_wav(samples, channels, sample_rate, format));
  CONTINUO_CHECK(file.write(bytes));
  return file.commit();
}

Result<Sound> decode_wav(std::span<const std::byte> bytes, const std::string& name) {
  if (bytes.size() < 12 || text_at(bytes, 0, 4) != "RIFF" || text_at(bytes, 8, 4) != "WAVE") {
    return fail(ErrorCode::corrupt_file, "{} is not a WAV file", name);
  }
  std::optional<Format> format;
  for (std::size_t at = 12; at + 8 <= bytes.size();) {
    const std::string_view id = text_at(bytes, at, 4);
    const std::size_t size = read_at<std::uint32_t>(bytes, at + 4);
    at += 8;
    if (size > bytes.size() - at) {
      return fail(ErrorCode::corrupt_file, "{} is truncated: a chunk of {} bytes has only {} left", name, size,
                  bytes.size() - at);
    }
    const auto chunk = bytes.subspan(at, size);
    if (id == "fmt " && !format) {
      CONTINUO_TRY(format, parse_format(chunk, name));
    } else if (id == "data") {
      if (!format) return fail(ErrorCode::corrupt_file, "{}: its samples come before their format", name);
      const auto width = static_cast<std::size_t>(format->bits / 8);
      if (size % (width * static_cast<std::size_t>(format->channels)) != 0) {
        return fail(ErrorCode::corrupt_file, "{}: its last frame is cut short", name);
      }
      Sound sound{std::vector<float>(size / width), format->channels, format->sample_rate};
      for (std::size_t i = 0; i < sound.samples.size(); ++i) sound.samples[i] = sample_at(chunk, i * width, *format);
      return sound;
    }
    at += std::min(size + size % 2, bytes.size() - at);
  }
  return fail(ErrorCode::corrupt_file, "{} holds no samples", name);
}

Result<Sound> read_wav(const std::string& path) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  return decode_wav(file.bytes(), path);
}

}  // namespace continuo::audio
