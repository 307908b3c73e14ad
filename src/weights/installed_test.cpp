#include "weights/installed.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "weights/convert.h"
#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

/// Two folders: "a" with a good model and a broken one, "b" with a second of the first one's name.
class InstalledTest : public ::testing::Test {
 protected:
  void SetUp() override {
    SmallCheckpoint().write(folder_.path("checkpoint"));
    for (const char* name : {"a", "b"}) std::filesystem::create_directory(folder_.path(name));
    ConvertOptions options;
    options.license = "MIT";
    ASSERT_TRUE(convert_huggingface(folder_.path("checkpoint"), folder_.path("a/good.gguf"), options));
    std::filesystem::copy(folder_.path("a/good.gguf"), folder_.path("b/good.gguf"));
    folder_.write("a/broken.gguf", "GGUF, but not really");
    folder_.write("a/notes.txt", "not a model");
    dirs_ = {folder_.path("a"), folder_.path("b"), folder_.path("none")};
  }
  TemporaryFolder folder_;
  std::vector<std::string> dirs_;
};

TEST_F(InstalledTest, ListsGoodAndBroken) {
  const auto models = list_models(dirs_);
  ASSERT_EQ(models.size(), 3U);
  EXPECT_EQ(models[0].name, "broken");
  EXPECT_NE(models[0].problem, "");
  EXPECT_EQ(models[0].bytes, 20U);
  EXPECT_EQ(models[1].name, "good");
  EXPECT_EQ(models[1].problem, "");
  EXPECT_EQ(models[1].license, "MIT");
  EXPECT_EQ(models[1].summary, "MusicGen, 2 layers of 8, f32, 1 kHz mono, up to 12.3 s");
  EXPECT_GT(models[1].bytes, 1000U);
  EXPECT_EQ(models[2].path, folder_.path("b/good.gguf"));
}

TEST_F(InstalledTest, FindsByPathAndByName) {
  EXPECT_EQ(*find_model(folder_.path("b/good.gguf"), dirs_), folder_.path("b/good.gguf"));
  EXPECT_EQ(*find_model("good", dirs_), folder_.path("a/good.gguf"));  // the earlier folder wins
  const auto unknown = find_model("better", dirs_);
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().message, "there is no model 'better'; installed are: broken, good");
  EXPECT_FALSE(find_model("", dirs_));
  EXPECT_FALSE(find_model("../a/good", dirs_));
  const auto missing = find_model("missing.gguf", dirs_);
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().message, "there is no model file missing.gguf");
  const auto none = find_model("good", {folder_.path("none")});
  ASSERT_FALSE(none);
  EXPECT_NE(none.error().message.find("no model is installed in"), std::string::npos);
  const auto directory = find_model(folder_.path("a"), dirs_);
  ASSERT_FALSE(directory);
  EXPECT_NE(directory.error().message.find("is a folder"), std::string::npos);
}

TEST(Installed, LooksWherePeoplePutModels) {
  ::setenv("CONTINUO_MODELS", "/one::/two/", 1);
  ::setenv("XDG_DATA_HOME", "/data", 1);
  EXPECT_EQ(default_model_dirs("/opt/continuo/build/continuo"),
            (std::vector<std::string>{"/one", "/two/", "/data/continuo/models", "/opt/continuo/models",
                                      "/opt/continuo/build/models", "/opt/continuo/share/continuo/models"}));
  ::unsetenv("CONTINUO_MODELS");
  ::setenv("XDG_DATA_HOME", "relative", 1);
  ::setenv("HOME", "/home/somebody", 1);
  EXPECT_EQ(default_model_dirs(""), (std::vector<std::string>{"/home/somebody/.local/share/continuo/models"}));
  const auto installed = default_model_dirs("/usr/bin/continuo");
  EXPECT_EQ(installed.back(), "/usr/share/continuo/models");
}

}  // namespace
}  // namespace continuo::weights
