#include "cli/transfer.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

using std::chrono::seconds;

TEST(TransferMeter, KnowsNoSpeedAtFirst) {
  TransferMeter meter;
  EXPECT_EQ(meter.text(0, 2'360'000'000, TransferMeter::Clock::time_point{}), "downloading, 0 B of 2.36 GB");
}

TEST(TransferMeter, SaysSpeedAndTimeLeft) {
  TransferMeter meter;
  const TransferMeter::Clock::time_point start{};
  meter.text(1'000'000, 101'000'000, start);  // resumed: what was there does not count as speed
  EXPECT_EQ(meter.text(21'000'000, 101'000'000, start + seconds(2)), "downloading, 21.0 MB of 101 MB, 10.0 MB/s, 8 s left");
  // Slower: the speed follows, not at once.
  EXPECT_EQ(meter.text(21'000'000, 101'000'000, start + seconds(4)), "downloading, 21.0 MB of 101 MB, 6.00 MB/s, 14 s left");
}

TEST(TransferMeter, SurvivesADownloadThatStartsOver) {
  TransferMeter meter;
  const TransferMeter::Clock::time_point start{};
  meter.text(50'000'000, 100'000'000, start);
  EXPECT_EQ(meter.text(10, 100'000'000, start + seconds(2)), "downloading, 10 B of 100 MB");
  EXPECT_EQ(meter.text(100'000'010, 100'000'000, start + seconds(3)), "downloading, 100 MB of 100 MB");
}

}  // namespace
}  // namespace continuo::cli
