#include "cli/settings.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

namespace continuo::cli {
namespace {

class SettingsTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = std::filesystem::temp_directory_path() / ("continuo_settings_" + std::to_string(::getpid()));
    std::filesystem::create_directories(folder_ / "continuo");
    variables_["XDG_CONFIG_HOME"] = folder_;
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  void write(const std::string& text) { std::ofstream(folder_ / "continuo" / "config.toml") << text; }
  Result<Settings> load() {
    return Settings::load([this](const char* name) -> const char* {
      const auto found = variables_.find(name);
      return found == variables_.end() ? nullptr : found->second.c_str();
    });
  }

  std::filesystem::path folder_;
  std::map<std::string, std::string> variables_;
};

TEST_F(SettingsTest, NoFileSetsNothing) {
  const auto settings = load();
  ASSERT_TRUE(settings.has_value());
  EXPECT_FALSE(settings->find("threads").has_value());
}

TEST_F(SettingsTest, EnvironmentWinsOverFile) {
  write("threads = 3\nmodels = \"/some/where\"\n");
  EXPECT_EQ(load()->find("threads")->value, "3");
  variables_["CONTINUO_THREADS"] = "5";
  EXPECT_EQ(load()->find("threads")->value, "5");
  EXPECT_EQ(load()->find("threads")->origin, "CONTINUO_THREADS");
  EXPECT_EQ(load()->find("models")->value, "/some/where");
  EXPECT_NE(load()->find("models")->origin.find("line 2"), std::string::npos);
  variables_["CONTINUO_API_KEY_FILE"] = "k";
  EXPECT_EQ(load()->find("api_key_file")->value, "k");
}

TEST_F(SettingsTest, MistakesNameTheLine) {
  for (const char* text : {"threads = 3\nmodels = \n", "threads = 3\nthread = 4\n", "threads = 3\nport = 1.5\n",
                           "threads = 3\nhost = [1]\n", "threads = 3\nthreads = 4\n"}) {
    write(text);
    const auto settings = load();
    ASSERT_FALSE(settings.has_value()) << text;
    EXPECT_NE(settings.error().message.find("line "), std::string::npos) << settings.error().message;
    EXPECT_NE(settings.error().message.find("config.toml"), std::string::npos) << settings.error().message;
  }
  write("threads = 3\nthread = 4\n");
  EXPECT_NE(load().error().message.find("line 2"), std::string::npos);
}

TEST_F(SettingsTest, MessagesAreOneLineWhateverTheFileHolds) {
  for (const char* text : {"\"a\\u001b[2J\\nb\" = 1\n", "threads = 1\x01\n"}) {
    write(text);
    const auto settings = load();
    ASSERT_FALSE(settings.has_value()) << text;
    const std::string& message = settings.error().message;
    EXPECT_TRUE(std::none_of(message.begin(), message.end(), [](unsigned char c) { return c < ' '; })) << message;
  }
}

TEST_F(SettingsTest, WhereTheFileLies) {
  const auto path = [](const char* xdg, const char* home) {
    return config_path([=](const char* name) { return std::string_view(name) == "HOME" ? home : xdg; });
  };
  EXPECT_EQ(path("/x", "/h"), "/x/continuo/config.toml");
  EXPECT_EQ(path(nullptr, "/h"), "/h/.config/continuo/config.toml");
  EXPECT_EQ(path("relative", "/h"), "/h/.config/continuo/config.toml");
  EXPECT_EQ(path(nullptr, nullptr), "");
}

}  // namespace
}  // namespace continuo::cli
