#include "weights/text_check.h"

#include <gtest/gtest.h>

namespace continuo::weights {
namespace {

TEST(TextCheck, KnowsWellFormedUtf8) {
  for (const char* good : {"", "plain", "\xC2\xA0", "caf\xC3\xA9", "\xE0\xA0\x80", "\xED\x9F\xBF", "\xEE\x80\x80",
                           "\xF0\x90\x80\x80", "\xF4\x8F\xBF\xBF"}) {
    EXPECT_TRUE(valid_utf8(good)) << good;
  }
  for (const char* bad : {"\x80", "\xC0\x80", "\xC1\xBF", "\xC3", "\xE0\x9F\xBF", "\xED\xA0\x80", "\xE2\x82", "\xF0\x8F\xBF\xBF",
                          "\xF4\x90\x80\x80", "\xF5\x80\x80\x80", "\xFF",
                          "a\xC3"
                          "b"}) {
    EXPECT_FALSE(valid_utf8(bad)) << bad;
  }
}

TEST(TextCheck, MakesTextPrintable) {
  EXPECT_EQ(printable("a\x1B[1m\n\x7F"), "a?[1m??");
  EXPECT_EQ(printable("\xC3(\xFF"), "?(?");
  EXPECT_EQ(printable("\xC3\xA9t\xC3\xA9"), "\xC3\xA9t\xC3\xA9");
  EXPECT_EQ(printable("abcdef", 4), "abcd...");
  EXPECT_EQ(printable("abc\xC3\xA9", 4), "abc...");  // never half a character
}

TEST(TextCheck, KnowsASingleLine) {
  EXPECT_TRUE(single_line("one line"));
  EXPECT_FALSE(single_line("two\nlines"));
  EXPECT_FALSE(single_line(std::string_view("\0", 1)));
}

}  // namespace
}  // namespace continuo::weights
