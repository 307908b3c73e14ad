#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <limits>
#include <set>

#include "base/file.h"
#include "base/half.h"
#include "base/philox.h"
#include "base/tensor.h"
#include "base/thread_pool.h"

namespace continuo {
namespace {

TEST(Half, EveryHalfSurvivesTheRoundTrip) {
  for (std::uint32_t bits = 0; bits < 0x10000; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = half_to_float(half);
    if (std::isnan(value)) {
      EXPECT_TRUE(std::isnan(half_to_float(float_to_half(value))));
    } else {
      EXPECT_EQ(half, float_to_half(value)) << bits;
    }
  }
}

TEST(Half, RoundsToNearestEvenAndOverflows) {
  EXPECT_EQ(0x3C00, float_to_half(1.0F));
  EXPECT_EQ(0x3C00, float_to_half(1.0F + 0x1.0p-11F));  // a tie, down to even
  EXPECT_EQ(0x3C02, float_to_half(1.0F + 0x1.8p-10F));  // a tie, up to even
  EXPECT_EQ(0x7BFF, float_to_half(65519.0F));
  EXPECT_EQ(0x7C00, float_to_half(65520.0F));
  EXPECT_EQ(0x0001, float_to_half(0x1.0p-24F));
  EXPECT_EQ(0x0000, float_to_half(0x1.0p-25F));  // a tie, to zero
  EXPECT_EQ(0x8000, float_to_half(-0.0F));
  EXPECT_EQ(0xFC00, float_to_half(-INFINITY));
}

TEST(Bfloat, RoundsToNearestEven) {
  EXPECT_EQ(0x3F80, float_to_bfloat(1.0F));
  EXPECT_EQ(0x3F80, float_to_bfloat(1.0F + 0x1.0p-8F));
  EXPECT_EQ(0x3F82, float_to_bfloat(1.0F + 0x1.8p-7F));
  EXPECT_TRUE(std::isnan(bfloat_to_float(float_to_bfloat(NAN))));
  EXPECT_EQ(-2.5F, bfloat_to_float(float_to_bfloat(-2.5F)));
}

TEST(Philox, KnownAnswers) {
  // The known-answer vectors that the authors of "Parallel random numbers: as easy as 1, 2, 3" publish for Philox4x32-10.
  EXPECT_EQ((PhiloxCounter{0x6627e8d5U, 0xe169c58dU, 0xbc57ac4cU, 0x9b00dbd8U}), philox({0, 0, 0, 0}, {0, 0}));
  const std::uint32_t ones = 0xffffffffU;
  EXPECT_EQ((PhiloxCounter{0x408f276dU, 0x41c83b0eU, 0xa20bc7c6U, 0x6d5451fdU}), philox({ones, ones, ones, ones}, {ones, ones}));
  EXPECT_EQ((PhiloxCounter{0xd16cfe09U, 0x94fdccebU, 0x5001e420U, 0x24126ea1U}),
            philox({0x243f6a88U, 0x85a308d3U, 0x13198a2eU, 0x03707344U}, {0xa4093822U, 0x299f31d0U}));
}

TEST(Philox, DrawsAreUniformAndDifferByEveryKey) {
  double sum = 0.0, square = 0.0;
  const int count = 20000;
  for (int i = 0; i < count; ++i) {
    const double u = uniform_draw(7, 1, static_cast<std::uint32_t>(i), 0);
    ASSERT_GE(u, 0.0);
    ASSERT_LT(u, 1.0);
    sum += u;
    square += u * u;
  }
  EXPECT_NEAR(sum / count, 0.5, 0.01);
  EXPECT_NEAR(square / count, 1.0 / 3.0, 0.01);
  const std::set<double> draws{uniform_draw(1, 1, 0, 0), uniform_draw(2, 1, 0, 0), uniform_draw(1, 2, 0, 0),
                               uniform_draw(1, 1, 1, 0), uniform_draw(1, 1, 0, 1), uniform_draw(std::uint64_t{1} << 32, 1, 0, 0)};
  EXPECT_EQ(6U, draws.size());
}

TEST(ThreadPool, DoesEveryIndexOnceManyTimes) {
  for (const int threads : {1, 2, 5}) {
    ThreadPool pool(threads);
    EXPECT_EQ(threads, pool.threads());
    for (int round = 0; round < 300; ++round) {
      std::vector<int> hits(static_cast<std::size_t>(round % 40), 0);
      pool.parallel_for(static_cast<std::int64_t>(hits.size()), [&](std::int64_t i) { ++hits[static_cast<std::size_t>(i)]; });
      for (const int hit : hits) ASSERT_EQ(1, hit);
    }
  }
}

TEST(ThreadPool, OthersDoTheShareOfWhoeverIsHeldUp) {
  for (const int threads : {2, 5, 12}) {
    ThreadPool pool(threads);
    std::atomic<int> others{0};
    bool helped = false;
    pool.parallel_for(40, [&](std::int64_t i) {
      if (i != 0) {
        ++others;
        return;
      }
      const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      while (others != 39 && std::chrono::steady_clock::now() < end) std::this_thread::yield();
      helped = others == 39;
    });
    EXPECT_TRUE(helped) << threads;
  }
}

TEST(ThreadPool, WakesSleepers) {
  ThreadPool pool(3);
  for (int round = 0; round < 3; ++round) {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));  // long enough for the others to fall asleep
    std::atomic<int> sum{0};
    pool.parallel_for(100, [&](std::int64_t i) { sum += static_cast<int>(i); });
    EXPECT_EQ(4950, sum.load());
  }
}

TEST(Tensor, SizesAreCheckedForOverflowAndBlocks) {
  EXPECT_EQ(24, tensor_bytes(DType::f32, Shape{2, 3}));
  EXPECT_EQ(36, tensor_bytes(DType::q4_0, Shape{2, 32}));
  EXPECT_FALSE(tensor_bytes(DType::q8_0, Shape{2, 33}));
  EXPECT_FALSE(tensor_bytes(DType::f32, Shape{2, 0}));
  EXPECT_FALSE(tensor_bytes(DType::f32, Shape{std::int64_t{1} << 40, std::int64_t{1} << 40}));
  EXPECT_FALSE(tensor_bytes(DType::f32, Shape{std::numeric_limits<std::int64_t>::max() / 2}));
}

class InFolder : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("continuo-base-" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::size_t files() const {
    return static_cast<std::size_t>(
        std::distance(std::filesystem::directory_iterator(folder_), std::filesystem::directory_iterator()));
  }
  std::filesystem::path folder_;
};

TEST_F(InFolder, AtomicFilesAppearWholeOrNotAtAll) {
  const std::string path = (folder_ / "out.bin").string();
  {
    auto file = AtomicFile::open(path);
    ASSERT_TRUE(file);
    ASSERT_TRUE(file->write("half", 4));
  }
  EXPECT_EQ(0U, files());
  {
    auto file = AtomicFile::open(path);
    ASSERT_TRUE(file->write("whole", 5));
    EXPECT_FALSE(std::filesystem::exists(path));
    ASSERT_TRUE(file->commit());
  }
  EXPECT_EQ(1U, files());
  EXPECT_EQ("whole", *read_text_file(path, 100));
  const auto too_large = read_text_file(path, 3);
  ASSERT_FALSE(too_large);
  EXPECT_EQ(ErrorCode::corrupt_file, too_large.error().code);
}

TEST_F(InFolder, AtomicFilesCanBeCompletedInTheirMiddle) {
  const std::string path = (folder_ / "out.bin").string();
  auto file = AtomicFile::open(path);
  ASSERT_TRUE(file->write("size ????, ", 11));
  const std::array four{std::byte{'f'}, std::byte{'o'}, std::byte{'u'}, std::byte{'r'}};
  ASSERT_TRUE(file->overwrite(5, four));
  ASSERT_TRUE(file->write("data", 4));
  ASSERT_TRUE(file->commit());
  EXPECT_EQ("size four, data", *read_text_file(path, 100));
}

TEST_F(InFolder, PlacesThatCannotBeWrittenAreFoundAtOnce) {
  EXPECT_FALSE(AtomicFile::open((folder_ / "no" / "such" / "folder.wav").string()));
  EXPECT_FALSE(AtomicFile::open(folder_.string()));
  EXPECT_FALSE(AtomicFile::open(""));
}

TEST_F(InFolder, MapsFiles) {
  const std::string path = (folder_ / "data").string();
  std::ofstream(path) << "abc";
  const auto file = MappedFile::open(path);
  ASSERT_TRUE(file);
  EXPECT_EQ(3U, file->bytes().size());
  EXPECT_EQ(std::byte{'b'}, file->bytes()[1]);
  file->release(0, 3);
  EXPECT_EQ(std::byte{'c'}, file->bytes()[2]);
  EXPECT_EQ(ErrorCode::not_found, MappedFile::open(path + "x").error().code);
  EXPECT_FALSE(MappedFile::open(folder_.string()));
}

}  // namespace
}  // namespace continuo
