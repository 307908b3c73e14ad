#include "cli/progress.h"

#include <gtest/gtest.h>

namespace continuo::cli {
namespace {

TEST(Progress, SaysHowMuchHowFastHowLong) {
  const engine::Progress progress{engine::Stage::decoder, 4.0, 10.0};
  EXPECT_EQ(progress_text(progress, 2.0, false), "4.0 of 10.0 s, 2.0x real time, 3 s left");
  EXPECT_EQ(progress_text(progress, 0.0, false), "4.0 of 10.0 s");
  EXPECT_EQ(progress_text(progress, 2.0, true).substr(0, 27), "[##########--------------] ");
  EXPECT_EQ(progress_text({engine::Stage::text, 0.0, 0.0}, 0.0, false), "reading the prompt");
}

TEST(Progress, OffATerminalShortWorkPrintsNothing) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    ProgressDisplay display(stream, false);
    for (int i = 0; i < 100; ++i) display.show({engine::Stage::decoder, i * 0.1, 10.0});
  }
  std::fflush(stream);
  EXPECT_EQ(size, 0U);
  std::fclose(stream);
  std::free(text);
}

TEST(Progress, OnATerminalTheBarIsRemoved) {
  char* text = nullptr;
  std::size_t size = 0;
  std::FILE* stream = ::open_memstream(&text, &size);
  {
    ProgressDisplay display(stream, true);
    display.show({engine::Stage::decoder, 1.0, 10.0});
  }
  std::fclose(stream);
  EXPECT_TRUE(std::string(text, size).ends_with("\r\033[K"));
  std::free(text);
}

}  // namespace
}  // namespace continuo::cli
