#include "server/keys.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <thread>

namespace continuo::server {
namespace {

class KeysTest : public ::testing::Test {
 protected:
  void SetUp() override { path_ = std::filesystem::temp_directory_path() / ("continuo_keys_" + std::to_string(::getpid())); }
  void TearDown() override { std::filesystem::remove(path_); }

  void write(const std::string& text, mode_t mode = 0600) {
    std::ofstream(path_, std::ios::trunc) << text;
    ::chmod(path_.c_str(), mode);
  }
  std::string refusal(const std::string& text) {
    write(text);
    const auto keys = Keys::load(path_);
    return keys ? "taken" : keys.error().message;
  }

  std::filesystem::path path_;
};

TEST_F(KeysTest, FindsWhoseKeyItIs) {
  write("# the studio\r\nanna: 0123456789abcdef\r\n\n  berta:\tq:r-s_t/u+v=w.x,y;z \nABCDEFGHIJKLMNOP\nanna: second-key-of-anna");
  const auto keys = Keys::load(path_);
  ASSERT_TRUE(keys.has_value()) << keys.error().message;
  EXPECT_EQ((*keys)->count(), 4U);
  EXPECT_EQ((*keys)->name_of("0123456789abcdef"), "anna");
  EXPECT_EQ((*keys)->name_of("second-key-of-anna"), "anna");
  EXPECT_EQ((*keys)->name_of("q:r-s_t/u+v=w.x,y;z"), "berta");
  EXPECT_FALSE((*keys)->warning().has_value());
  for (const char* wrong : {"", "0123456789abcde", "0123456789abcdef0", "0123456789ABCDEF", "anna", "anna: 0123456789abcdef",
                            "# the studio", " 0123456789abcdef"}) {
    EXPECT_FALSE((*keys)->name_of(wrong).has_value()) << wrong;
  }
  EXPECT_FALSE((*keys)->name_of(std::string("0123456789abcdef\0", 17)).has_value());
}

TEST_F(KeysTest, ANamelessKeyKeepsItsNameWhereverItStands) {
  write("ABCDEFGHIJKLMNOP\nQRSTUVWXYZabcdef\n");
  const std::string first = *(*Keys::load(path_))->name_of("ABCDEFGHIJKLMNOP");
  EXPECT_EQ(first.size(), 12U);
  EXPECT_TRUE(first.starts_with("key-"));
  write("another: 0000000000000000\nQRSTUVWXYZabcdef\nABCDEFGHIJKLMNOP\n");
  const auto keys = Keys::load(path_);
  EXPECT_EQ((*keys)->name_of("ABCDEFGHIJKLMNOP"), first);
  EXPECT_NE((*keys)->name_of("QRSTUVWXYZabcdef"), first);
}

TEST_F(KeysTest, RefusesWhatIsNoKeyAndNeverSaysIt) {
  EXPECT_NE(refusal("a: 0123456789abcdef\nshort-secret").find("line 2"), std::string::npos);
  EXPECT_EQ(refusal("a: 0123456789abcdef\nshort-secret").find("short-secret"), std::string::npos);
  EXPECT_NE(refusal("two words: 0123456789abcdef").find("line 1: a name"), std::string::npos);
  EXPECT_NE(refusal(": 0123456789abcdef").find("line 1: a name"), std::string::npos);
  EXPECT_NE(refusal("a: 01234567 89abcdef").find("no spaces"), std::string::npos);
  EXPECT_NE(refusal("a: 0123456789abcd\xC3\xA9").find("ASCII"), std::string::npos);
  EXPECT_NE(refusal("a: 0123456789abcdef\n\nb: 0123456789abcdef").find("line 3: this key stands"), std::string::npos);
  EXPECT_NE(refusal("# nothing yet\n").find("has no key"), std::string::npos);
  EXPECT_NE(refusal("").find("has no key"), std::string::npos);
  EXPECT_NE(refusal("a: " + std::string(513, 'x')).find("16 to 512"), std::string::npos);
  std::filesystem::remove(path_);
  EXPECT_EQ(Keys::load(path_).error().code, ErrorCode::not_found);
}

TEST_F(KeysTest, WarnsWhenOthersMayRead) {
  for (const mode_t mode : {0640, 0604, 0620}) {
    write("a: 0123456789abcdef", mode);
    const auto keys = Keys::load(path_);
    ASSERT_TRUE((*keys)->warning().has_value());
    EXPECT_NE((*keys)->warning()->find(fmt::format("{:03o}", mode)), std::string::npos) << *(*keys)->warning();
  }
}

TEST_F(KeysTest, ReloadTakesTheNewOnesOrKeepsTheOld) {
  write("a: 0123456789abcdef");
  const auto keys = Keys::load(path_);
  write("b: ABCDEFGHIJKLMNOP");
  ASSERT_TRUE((*keys)->reload().has_value());
  EXPECT_FALSE((*keys)->name_of("0123456789abcdef").has_value());
  EXPECT_EQ((*keys)->name_of("ABCDEFGHIJKLMNOP"), "b");
  write("b: short");
  EXPECT_FALSE((*keys)->reload().has_value());
  EXPECT_EQ((*keys)->name_of("ABCDEFGHIJKLMNOP"), "b");
  std::filesystem::remove(path_);
  EXPECT_FALSE((*keys)->reload().has_value());
  EXPECT_EQ((*keys)->name_of("ABCDEFGHIJKLMNOP"), "b");
}

TEST_F(KeysTest, ReloadsBesideRequests) {
  write("a: 0123456789abcdef");
  const auto keys = Keys::load(path_);
  std::thread reloading([&] {
    for (int i = 0; i < 50; ++i) EXPECT_TRUE((*keys)->reload().has_value());
  });
  for (int i = 0; i < 500; ++i) EXPECT_EQ((*keys)->name_of("0123456789abcdef"), "a");
  reloading.join();
}

TEST(ShownKey, OfEitherHeader) {
  EXPECT_EQ(shown_key("Bearer abc", ""), "abc");
  EXPECT_EQ(shown_key("bEARER   abc ", "other"), "abc");
  EXPECT_EQ(shown_key("", "abc"), "abc");
  EXPECT_EQ(shown_key("Basic abc", "def"), "def");
  EXPECT_EQ(shown_key("Basic abc", ""), "");
  EXPECT_EQ(shown_key("Bearerabc", ""), "");
  EXPECT_EQ(shown_key("Bearer", ""), "");
  EXPECT_EQ(shown_key("Bearer ", "def"), "def");
}

}  // namespace
}  // namespace continuo::server
