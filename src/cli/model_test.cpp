#include "cli/model.h"

#include <gtest/gtest.h>

#include "weights/installed.h"

namespace continuo::cli {
namespace {

TEST(MemoryNeedTest, WhatCannotFitIsRefusedWithItsNumber) {
  engine::MemoryNeed small;
  small.weights = 1000;
  EXPECT_TRUE(check_memory(small).has_value());
  EXPECT_TRUE(check_memory(small, 1000).has_value());
  const auto beyond = check_memory(small, 999);
  ASSERT_FALSE(beyond.has_value());
  EXPECT_NE(beyond.error().message.find("--memory"), std::string::npos) << beyond.error().message;
  engine::MemoryNeed absurd;
  absurd.weights = std::int64_t{1} << 60;
  const auto status = check_memory(absurd);
  ASSERT_FALSE(status.has_value());
  EXPECT_NE(status.error().message.find("TB"), std::string::npos) << status.error().message;
}

TEST(Sizes, InBothKindsOfUnits) {
  for (const auto& [text, bytes] : {std::pair{"650M", std::int64_t{650} << 20},
                                    {"4G", std::int64_t{4} << 30},
                                    {"1.5GiB", std::int64_t{3} << 29},
                                    {"2GB", std::int64_t{2'000'000'000}},
                                    {"123456", std::int64_t{123456}}}) {
    EXPECT_EQ(parse_size(text, "--memory").value_or(-1), bytes) << text;
  }
  for (const char* text : {"", "M", "-1G", "4g", "1e9", "0", "4 G", "99999999G", "1.2.3M"}) {
    EXPECT_FALSE(parse_size(text, "--memory").has_value()) << text;
  }
}

TEST(ModelFolders, TheChosenOnesComeFirstAndOnce) {
  Arguments arguments;
  arguments.set("models", "/b/:/a:/b");
  const auto folders = model_folders(arguments, Context{});
  ASSERT_GE(folders.size(), 2U);
  EXPECT_EQ(folders[0], "/b");
  EXPECT_EQ(folders[1], "/a");
}

TEST(Licences, NonCommercialOnesAreKnown) {
  EXPECT_TRUE(non_commercial("CC-BY-NC-4.0"));
  EXPECT_FALSE(non_commercial("CC-BY-4.0"));
  EXPECT_FALSE(non_commercial("unknown"));
}

}  // namespace
}  // namespace continuo::cli
