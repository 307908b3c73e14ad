#include "server/rates.h"

#include <gtest/gtest.h>

#include <string>

namespace continuo::server {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(Rates, AMinutesWorthAndThenEvenly) {
  Rates rates(60);
  Rates::Time now{};
  for (int i = 0; i < 60; ++i) EXPECT_FALSE(rates.retry_after("key:a", now).has_value()) << i;
  const auto wait = rates.retry_after("key:a", now);
  ASSERT_TRUE(wait.has_value());
  EXPECT_NEAR(*wait, 1.0, 1e-9);
  EXPECT_NEAR(*rates.retry_after("key:a", now + milliseconds(400)), 0.6, 1e-9);  // being refused costs nothing
  EXPECT_FALSE(rates.retry_after("key:a", now + seconds(1)).has_value());
  EXPECT_TRUE(rates.retry_after("key:a", now + seconds(1)).has_value());
  int taken = 0;  // it never holds more than a minute's worth
  while (!rates.retry_after("key:a", now + seconds(100'000))) ++taken;
  EXPECT_EQ(taken, 60);
}

TEST(Rates, WhoWaitsAsToldIsLetIn) {
  Rates rates(7);
  Rates::Time now{};
  for (int i = 0; i < 500; ++i) {
    if (const auto wait = rates.retry_after("key:a", now)) {
      now += std::chrono::ceil<std::chrono::nanoseconds>(std::chrono::duration<double>(*wait));
      ASSERT_FALSE(rates.retry_after("key:a", now).has_value()) << i;
    }
  }
}

TEST(Rates, ClientsDoNotShareAndAClockThatGoesBackGivesNothing) {
  Rates rates(1);
  const Rates::Time now = Rates::Time{} + seconds(100);
  EXPECT_FALSE(rates.retry_after("key:a", now).has_value());
  EXPECT_FALSE(rates.retry_after("key:b", now).has_value());
  EXPECT_FALSE(rates.retry_after("ip:10.0.0.1", now).has_value());
  EXPECT_TRUE(rates.retry_after("key:a", now).has_value());
  EXPECT_NEAR(*rates.retry_after("key:a", now - seconds(50)), 60.0, 1e-9);
  EXPECT_NEAR(*rates.retry_after("key:a", now), 60.0, 1e-9);
}

TEST(Rates, NoLimit) {
  Rates rates(0);
  for (int i = 0; i < 1000; ++i) EXPECT_FALSE(rates.retry_after("key:a", {}).has_value());
  EXPECT_EQ(rates.clients(), 0U);
}

TEST(Rates, TheTableIsBoundedAndForgetsWhoAskedLongestAgo) {
  Rates rates(1, 100);
  Rates::Time now{};
  EXPECT_FALSE(rates.retry_after("key:busy", now).has_value());
  for (int i = 0; i < 5000; ++i) {
    EXPECT_FALSE(rates.retry_after("ip:10.0." + std::to_string(i / 256) + "." + std::to_string(i % 256), now).has_value());
    EXPECT_TRUE(rates.retry_after("key:busy", now).has_value());
  }
  EXPECT_EQ(rates.clients(), 100U);
}

TEST(Rates, Ipv6CountsByNetwork) {
  EXPECT_EQ(rate_group("ip:2001:db8:1:2:3:4:5:6"), "ip:2001:db8:1:2::/64");
  EXPECT_EQ(rate_group("ip:2001:db8:1:2::9"), "ip:2001:db8:1:2::/64");
  EXPECT_EQ(rate_group("ip:2001:db8:1:3::9"), "ip:2001:db8:1:3::/64");
  EXPECT_EQ(rate_group("ip:::ffff:10.1.2.3"), "ip:10.1.2.3");
  EXPECT_EQ(rate_group("ip:::1"), "ip:::1");
  EXPECT_EQ(rate_group("ip:10.1.2.3"), "ip:10.1.2.3");
  EXPECT_EQ(rate_group("key:2001:db8::1"), "key:2001:db8::1");
  EXPECT_EQ(rate_group("i"), "i");
  Rates rates(1);
  EXPECT_FALSE(rates.retry_after("ip:2001:db8::1", {}).has_value());
  EXPECT_TRUE(rates.retry_after("ip:2001:db8::2", {}).has_value());
}

}  // namespace
}  // namespace continuo::server
