#include "server/http/target.h"

#include <gtest/gtest.h>

namespace continuo::server {
namespace {

TEST(TargetTest, PathAndQueryAreDecoded) {
  const auto target = parse_target("/a%20b/%C3%A9?x=1+2&y&z=%26&x=3#part");
  ASSERT_TRUE(target);
  EXPECT_EQ(target->path, "/a b/\xC3\xA9");
  EXPECT_EQ(target->query.at("x"), "3");
  EXPECT_EQ(target->query.at("y"), "");
  EXPECT_EQ(target->query.at("z"), "&");
  EXPECT_EQ(parse_target("/a+b")->path, "/a+b");
}

TEST(TargetTest, WhatIsNoPathIsRefused) {
  for (const char* bad : {"", "*", "http://x/", "/%", "/%4", "/%zz", "/x?a=%g1"}) EXPECT_FALSE(parse_target(bad)) << bad;
}

TEST(TargetTest, EncodingIsUndoneByDecoding) {
  std::string all;
  for (int i = 0; i < 256; ++i) all += static_cast<char>(i);
  EXPECT_EQ(percent_decoded(percent_encoded(all)), all);
  EXPECT_EQ(percent_encoded("a b/c"), "a%20b%2Fc");
}

}  // namespace
}  // namespace continuo::server
