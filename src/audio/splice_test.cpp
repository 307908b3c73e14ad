#include "audio/splice.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>
#include <vector>

namespace continuo::audio {
namespace {

constexpr std::size_t rate = 32'000;
constexpr std::size_t fade = 640;

/// [samples, channels]; the second channel is softer.
std::vector<float> sine(std::size_t samples, std::size_t channels, double amplitude = 0.5, double phase = 0.0) {
  std::vector<float> out;
  for (std::size_t i = 0; i < samples; ++i) {
    for (std::size_t c = 0; c < channels; ++c) {
      const double angle = 2.0 * std::numbers::pi * 220.0 * static_cast<double>(i) / rate + phase;
      out.push_back(static_cast<float>(amplitude / static_cast<double>(c + 1) * std::sin(angle)));
    }
  }
  return out;
}

double roughest(std::span<const float> samples, std::size_t channels, std::size_t begin, std::size_t end) {
  double most = 0.0;
  for (std::size_t i = begin * channels; i + 2 * channels < end * channels; ++i) {
    const double second = static_cast<double>(samples[i]) - 2.0 * samples[i + channels] + samples[i + 2 * channels];
    most = std::max(most, std::abs(second));
  }
  return most;
}

TEST(Splice, KeepsTheOriginalAndDoesNotClick) {
  for (const std::size_t channels : {1U, 2U}) {
    const auto original = sine(6'400, channels);
    const auto codec = sine(12'800, channels, 0.45, 0.2);  // a little softer and later, as a codec may make it
    auto whole = codec;
    splice(whole, original, static_cast<int>(channels), fade);
    const std::size_t kept = (6'400 - fade) * channels, end = 6'400 * channels;
    EXPECT_TRUE(std::equal(whole.begin(), whole.begin() + static_cast<std::ptrdiff_t>(kept), original.begin()));
    EXPECT_TRUE(std::equal(whole.begin() + static_cast<std::ptrdiff_t>(end), whole.end(),
                           codec.begin() + static_cast<std::ptrdiff_t>(end)));
    const double around = roughest(original, channels, 1'000, 5'000);
    EXPECT_LT(roughest(whole, channels, 5'700, 6'500), 1.05 * around);
    // What happens without a fade:
    auto hard = codec;
    splice(hard, original, static_cast<int>(channels), 0);
    EXPECT_GT(roughest(hard, channels, 5'700, 6'500), 5.0 * around);
  }
}

TEST(Splice, GoesOverEvenly) {
  std::vector<float> whole(100, 1.0F);
  splice(whole, std::vector<float>(60, 0.0F), 1, 40);
  EXPECT_EQ(whole[19], 0.0F);
  for (std::size_t i = 20; i < 60; ++i) EXPECT_GT(whole[i], whole[i - 1]);
  EXPECT_NEAR(whole[39] + whole[40], 1.0F, 1e-6F);
  EXPECT_LT(whole[59], 1.0F);
  EXPECT_GT(whole[59], 0.999F);
  EXPECT_EQ(whole[60], 1.0F);
}

TEST(Splice, AFadeLongerThanTheOriginal) {
  std::vector<float> whole(10, 1.0F);
  splice(whole, std::vector<float>(4, 0.0F), 2, 640);
  EXPECT_LT(whole[0], 0.2F);
  EXPECT_EQ(whole[0], whole[1]);
  EXPECT_EQ(whole[4], 1.0F);
  splice(whole, {}, 2, 640);
  EXPECT_EQ(whole[9], 1.0F);
}

TEST(Splice, EqualSoundsStayAsTheyAre) {
  auto whole = sine(2'000, 1);
  const auto before = whole;
  splice(whole, std::span(before).first(1'000), 1, fade);
  for (std::size_t i = 0; i < whole.size(); ++i) EXPECT_NEAR(whole[i], before[i], 1e-7F);
}

TEST(Splice, InPiecesGivesTheSameBits) {
  for (const std::size_t channels : {1U, 2U}) {
    const auto original = sine(2'000, channels);
    const auto codec = sine(3'000, channels, 0.45, 0.2);
    auto whole = codec, pieces = codec;
    splice(whole, original, static_cast<int>(channels), fade);
    for (std::size_t first = 0; first < 3'000; first += 7) {
      const std::size_t count = std::min<std::size_t>(7, 3'000 - first);
      splice_piece(std::span(pieces).subspan(first * channels, count * channels), first, original, static_cast<int>(channels),
                   fade);
    }
    EXPECT_EQ(whole, pieces);
    EXPECT_NE(whole, codec);
  }
}

}  // namespace
}  // namespace continuo::audio
