#include "cli/numbers.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

TEST(Numbers, TakesPlainNumbersInRange) {
  EXPECT_EQ(parse_number("10", "-d", 0, 30).value(), 10.0);
  EXPECT_EQ(parse_number("0.5", "-d", 0, 30).value(), 0.5);
  EXPECT_EQ(parse_number("30", "-d", 0, 30).value(), 30.0);
  EXPECT_EQ(parse_integer("0", "--top-k", 0, 5).value(), 0);
  EXPECT_EQ(parse_seed("18446744073709551615").value(), 18446744073709551615ULL);
}

TEST(Numbers, RefusesEverythingElseAndSaysTheRange) {
  for (const char* text : {"", " ", "10s", "nan", "NaN", "inf", "-inf", "1e9", "1e1", "0x10", "10 ", " 10", "+1", "-1", "30.01",
                           "1,5", "--", "99999999999999999999999999999999999999999999999999999999999999999999999999"}) {
    const auto value = parse_number(text, "-d", 0, 30);
    ASSERT_FALSE(value.has_value()) << text;
    EXPECT_EQ(value.error().code, ErrorCode::invalid_argument);
    EXPECT_NE(value.error().message.find("from 0 to 30"), std::string::npos) << value.error().message;
  }
  for (const char* text : {"", "1.0", "1e3", "-1", "6", "99999999999999999999", "5x"}) {
    EXPECT_FALSE(parse_integer(text, "--takes", 0, 5).has_value()) << text;
  }
  for (const char* text : {"", "-1", "1.5", "18446744073709551616", "seed"}) EXPECT_FALSE(parse_seed(text).has_value()) << text;
}

TEST(Numbers, Lists) {
  EXPECT_EQ(parse_list("2,4,8", "--rows", 1, 16).value(), (std::vector<int>{2, 4, 8}));
  EXPECT_EQ(parse_list("3", "--rows", 1, 16).value(), (std::vector<int>{3}));
  for (const char* text : {"", ",", "2,", ",2", "2,,4", "2;4", "0", "17"})
    EXPECT_FALSE(parse_list(text, "--rows", 1, 16).has_value()) << text;
  std::string many = "1";
  for (int i = 0; i < 40; ++i) many += ",1";
  EXPECT_FALSE(parse_list(many, "--rows", 1, 16).has_value());
}

TEST(Numbers, BytesForPeople) {
  EXPECT_EQ(human_bytes(0), "0 B");
  EXPECT_EQ(human_bytes(999), "999 B");
  EXPECT_EQ(human_bytes(1000), "1.00 kB");
  EXPECT_EQ(human_bytes(999'999), "1.00 MB");
  EXPECT_EQ(human_bytes(12'340'000), "12.3 MB");
  EXPECT_EQ(human_bytes(123'400'000'000), "123 GB");
}

}  // namespace
}  // namespace continuo::cli
