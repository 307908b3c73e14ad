#include "audio/wav.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <limits>
#include <numbers>

#include "audio/bytes.h"

namespace continuo::audio {
namespace {

std::vector<std::byte> encoded(const std::vector<float>& samples, SampleFormat format, int channels = 1) {
  auto bytes = encode_wav(samples, channels, 32000, format);
  EXPECT_TRUE(bytes.has_value());
  return bytes.value_or(std::vector<std::byte>{});
}

std::vector<float> sine(int count) {
  std::vector<float> samples(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    samples[static_cast<std::size_t>(i)] = static_cast<float>(0.9 * std::sin(2.0 * std::numbers::pi * 440.0 * i / 32000.0));
  }
  return samples;
}

TEST(Wav, HeaderOfSixteenBits) {
  const auto bytes = encoded({0.0F, 0.5F, -0.5F}, SampleFormat::pcm16);
  ASSERT_EQ(bytes.size(), 44U + 6U);
  EXPECT_EQ(text_at(bytes, 0, 4), "RIFF");
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 4), bytes.size() - 8);
  EXPECT_EQ(text_at(bytes, 8, 8), "WAVEfmt ");
  EXPECT_EQ(read_at<std::uint16_t>(bytes, 20), 1);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 24), 32000U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 28), 64000U);
  EXPECT_EQ(read_at<std::uint16_t>(bytes, 32), 2);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 40), 6U);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 46), 16384);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 48), -16384);
}

TEST(Wav, ClampsBeforeRoundingAndNeverWraps) {
  const auto bytes = encoded({1.0F, 1.5F, 1e30F, -1.0F, -7.0F, 0.99999F}, SampleFormat::pcm16);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 44), 32767);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 46), 32767);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 48), 32767);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 50), -32768);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 52), -32768);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 54), 32767);  // 32767.67 is above the range, not rounded into a wrap
  const auto sound = decode_wav(encoded({2.0F, -2.0F}, SampleFormat::pcm24), "x");
  ASSERT_TRUE(sound.has_value());
  EXPECT_EQ(sound->samples, (std::vector<float>{8388607.0F / 8388608.0F, -1.0F}));
}

TEST(Wav, RoundsToNearest) {
  const auto bytes = encoded({0.6F / 32768.0F, -0.6F / 32768.0F, 0.4F / 32768.0F, 100.4999F / 32768.0F}, SampleFormat::pcm16);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 44), 1);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 46), -1);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 48), 0);
  EXPECT_EQ(read_at<std::int16_t>(bytes, 50), 100);
}

TEST(Wav, RoundTripWithinHalfAStep) {
  const auto samples = sine(3201);  // odd, so that 24 bits need a padding byte
  for (const auto& [format, step] : {std::pair{SampleFormat::pcm16, 1.0F / 32768.0F}, {SampleFormat::pcm24, 1.0F / 8388608.0F}}) {
    const auto sound = decode_wav(encoded(samples, format), "x");
    ASSERT_TRUE(sound.has_value()) << sound.error().message;
    ASSERT_EQ(sound->samples.size(), samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) ASSERT_LE(std::abs(sound->samples[i] - samples[i]), step * 0.5F);
  }
}

TEST(Wav, FloatIsWrittenAsIs) {
  const std::vector<float> samples{0.1F, 1.75F, -3.0F, 1e-30F};
  const auto sound = decode_wav(encoded(samples, SampleFormat::float32, 2), "x");
  ASSERT_TRUE(sound.has_value());
  EXPECT_EQ(sound->samples, samples);
  EXPECT_EQ(sound->channels, 2);
  EXPECT_EQ(sound->frames(), 2);
  EXPECT_EQ(sound->sample_rate, 32000);
}

TEST(Wav, EvenSizeWithPaddingByte) {
  const auto bytes = encoded({0.1F, 0.2F, 0.3F}, SampleFormat::pcm24);
  EXPECT_EQ(bytes.size(), 44U + 9U + 1U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 40), 9U);
  EXPECT_EQ(read_at<std::uint32_t>(bytes, 4), bytes.size() - 8);
}

TEST(Wav, AHeaderAndSamplesAreTheFile) {
  const std::vector<float> samples{0.1F, -0.2F, 0.3F};
  for (const SampleFormat format : {SampleFormat::pcm16, SampleFormat::pcm24, SampleFormat::float32}) {
    const auto whole = encode_wav(samples, 1, 32000, format).value();
    auto parts = wav_header(3, 1, 32000, format).value();
    const auto data = encode_samples(samples, format).value();
    EXPECT_EQ(data.size(), 3U * static_cast<std::size_t>(bytes_of_sample(format)));
    parts.insert(parts.end(), data.begin(), data.end());
    if (data.size() % 2 != 0) parts.push_back(std::byte{0});
    EXPECT_EQ(parts, whole);
    // Without a length only the sizes differ.
    const auto open = wav_header(std::nullopt, 1, 32000, format).value();
    EXPECT_EQ(open.size(), parts.size() - data.size() - data.size() % 2);
    for (std::size_t i = open.size() - 4; i < open.size(); ++i) EXPECT_EQ(open[i], std::byte{0xFF});
  }
}

TEST(Wav, RefusesSamplesThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    for (const auto format : {SampleFormat::pcm16, SampleFormat::pcm24, SampleFormat::float32}) {
      const auto bytes = encode_wav(std::vector<float>{0.0F, bad}, 1, 32000, format);
      ASSERT_FALSE(bytes.has_value());
      EXPECT_NE(bytes.error().message.find("sample 1"), std::string::npos);
    }
  }
}

TEST(Wav, RefusesEveryTruncation) {
  for (const auto format : {SampleFormat::pcm16, SampleFormat::pcm24, SampleFormat::float32}) {
    const auto bytes = encoded({0.1F, 0.2F, 0.3F, 0.4F}, format);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_FALSE(decode_wav(std::span(bytes).first(size), "x").has_value()) << size;
    }
  }
}

TEST(Wav, RefusesContradictions) {
  const auto good = encoded({0.1F, 0.2F, 0.3F, 0.4F}, SampleFormat::pcm16);
  const auto changed = [&](std::size_t offset, auto value) {
    auto bytes = good;
    std::memcpy(bytes.data() + offset, &value, sizeof value);
    return decode_wav(bytes, "x").has_value();
  };
  EXPECT_TRUE(decode_wav(good, "x").has_value());
  EXPECT_FALSE(changed(8, 'X'));                         // not WAVE
  EXPECT_FALSE(changed(16, std::uint32_t{0xFFFFFFFF}));  // format chunk beyond the file
  EXPECT_FALSE(changed(16, std::uint32_t{12}));          // format chunk too small
  EXPECT_FALSE(changed(20, std::uint16_t{6}));           // A-law
  EXPECT_FALSE(changed(22, std::uint16_t{0}));           // no channels
  EXPECT_FALSE(changed(22, std::uint16_t{2}));           // block size contradicts
  EXPECT_FALSE(changed(24, std::uint32_t{0}));           // no rate
  EXPECT_FALSE(changed(34, std::uint16_t{8}));           // 8 bits
  EXPECT_FALSE(changed(40, std::uint32_t{0xFFFFFFF0}));  // data beyond the file
  EXPECT_FALSE(changed(40, std::uint32_t{7}));           // half a sample
  EXPECT_FALSE(changed(36, 'X'));                        // no data chunk
}

TEST(Wav, AnyDamageIsAnErrorOrAnotherSound) {
  // Run under the sanitizers, this is what says that no size is believed unchecked.
  const auto good = encoded({0.1F, 0.2F, 0.3F, 0.4F, 0.5F}, SampleFormat::float32);
  for (std::size_t at = 0; at < good.size(); ++at) {
    for (const int value : {0x00, 0x01, 0x7F, 0x80, 0xFF}) {
      auto bytes = good;
      bytes[at] = static_cast<std::byte>(value);
      const auto sound = decode_wav(bytes, "x");
      if (sound) {
        EXPECT_LE(sound->samples.size(), good.size());
      }
    }
  }
}

TEST(Wav, ReadsExtensibleAndThirtyTwoBits) {
  std::vector<std::byte> bytes;
  append_text(bytes, "RIFF");
  append(bytes, std::uint32_t{4 + 8 + 40 + 8 + 4 + 8 + 8});
  append_text(bytes, "WAVEfmt ");
  append(bytes, std::uint32_t{40});
  append(bytes, std::uint16_t{0xFFFE});
  append(bytes, std::uint16_t{1});
  append(bytes, std::uint32_t{48000});
  append(bytes, std::uint32_t{192000});
  append(bytes, std::uint16_t{4});
  append(bytes, std::uint16_t{32});
  append(bytes, std::uint16_t{22});
  append(bytes, std::uint16_t{32});
  append(bytes, std::uint32_t{4});
  append(bytes, std::uint16_t{1});
  bytes.resize(bytes.size() + 14);  // the rest of the GUID is not looked at
  append_text(bytes, "junk");       // an unknown chunk of odd size is skipped with its padding
  append(bytes, std::uint32_t{3});
  append(bytes, std::uint32_t{0});
  append_text(bytes, "data");
  append(bytes, std::uint32_t{8});
  append(bytes, std::int32_t{1 << 30});
  append(bytes, std::numeric_limits<std::int32_t>::min());
  const auto sound = decode_wav(bytes, "x");
  ASSERT_TRUE(sound.has_value()) << sound.error().message;
  EXPECT_EQ(sound->samples, (std::vector<float>{0.5F, -1.0F}));
  EXPECT_EQ(sound->sample_rate, 48000);
}

TEST(Wav, FilesAppearCompleteOrNotAtAll) {
  const auto folder = std::filesystem::temp_directory_path() / "continuo_wav_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  const std::string path = folder / "a.wav";
  EXPECT_FALSE(write_wav(path, std::vector<float>{NAN}, 1, 32000, SampleFormat::pcm16).has_value());
  EXPECT_TRUE(std::filesystem::is_empty(folder));
  ASSERT_TRUE(write_wav(path, sine(100), 1, 32000, SampleFormat::pcm16).has_value());
  EXPECT_EQ(read_wav(path)->frames(), 100);
  EXPECT_FALSE(write_wav(folder / "no" / "a.wav", sine(100), 1, 32000, SampleFormat::pcm16).has_value());
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace continuo::audio
