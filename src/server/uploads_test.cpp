#include "server/uploads.h"

#include <gtest/gtest.h>
#include <filesystem>
#include <fstream>

namespace continuo::server {
namespace {

namespace fs = std::filesystem;

std::string wav_of(double seconds, int channels = 1, int rate = 8000) {
  const std::vector<float> samples(static_cast<std::size_t>(seconds * rate) * static_cast<std::size_t>(channels), 0.25F);
  const auto bytes = audio::encode_wav(samples, channels, rate, audio::SampleFormat::pcm16);
  return {reinterpret_cast<const char*>(bytes->data()), bytes->size()};
}

class UploadsTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = testing::TempDir() + "uploads_test-" + testing::UnitTest::GetInstance()->current_test_info()->name();
    fs::remove_all(folder_);
    limits_.upload_bytes = 400'000;
    limits_.upload_seconds = 10.0;
    limits_.uploads = 2;
    limits_.upload_keep_seconds = 100.0;
    open(1000.0);
  }
  void TearDown() override { fs::remove_all(folder_); }

  void open(double now) {
    uploads_.reset();
    auto uploads = Uploads::open(folder_, limits_, now);
    ASSERT_TRUE(uploads.has_value()) << uploads.error().message;
    uploads_ = std::move(*uploads);
  }
  Upload add(double seconds, double now = 1000.0) {
    auto upload = uploads_->add(wav_of(seconds), now);
    EXPECT_TRUE(upload.has_value()) << (upload ? "" : upload.error().message);
    return upload.value_or(Upload{});
  }
  std::size_t files() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_;
  Limits limits_;
  std::unique_ptr<Uploads> uploads_;
};

TEST_F(UploadsTest, KeepsASound) {
  const auto upload = uploads_->add(wav_of(1.5, 2), 1000.0);
  ASSERT_TRUE(upload.has_value()) << upload.error().message;
  EXPECT_EQ(upload->seconds, 1.5);
  EXPECT_EQ(upload->sample_rate, 8000);
  EXPECT_EQ(upload->channels, 2);
  EXPECT_EQ(upload->expires, 1100.0);
  EXPECT_EQ(upload->id.size(), 40U);
  const auto sound = uploads_->sound(upload->id);
  ASSERT_TRUE(sound.has_value()) << sound.error().message;
  EXPECT_EQ(sound->frames(), 12'000);
  EXPECT_EQ(uploads_->find(upload->id, 1099.0).first, Uploads::Lookup::found);
  EXPECT_EQ(uploads_->count(), 1);
  EXPECT_EQ(uploads_->bytes(), 44 + 48'000);
}

TEST_F(UploadsTest, IdsDiffer) { EXPECT_NE(add(0.1).id, add(0.1).id); }

TEST_F(UploadsTest, RefusesWhatIsNoSoundAndLeavesNothing) {
  const auto text = uploads_->add("#EXTM3U\nfile:///etc/passwd\n", 1000.0);
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().status, 415);
  EXPECT_EQ(text.error().message, "the upload is not audio that FFmpeg can read");
  EXPECT_EQ(uploads_->add("", 1000.0).error().status, 422);
  EXPECT_EQ(files(), 0U);
}

TEST_F(UploadsTest, RefusesTooMuchOfIt) {
  const auto large = uploads_->add(std::string(400'001, 'x'), 1000.0);
  ASSERT_FALSE(large.has_value());
  EXPECT_EQ(large.error().status, 413);
  const auto long_sound = uploads_->add(wav_of(10.5), 1000.0);
  ASSERT_FALSE(long_sound.has_value());
  EXPECT_EQ(long_sound.error().status, 413);
  EXPECT_NE(long_sound.error().message.find("too long"), std::string::npos) << long_sound.error().message;
  add(0.1);
  add(0.1);
  const auto third = uploads_->add(wav_of(0.1), 1000.0);
  ASSERT_FALSE(third.has_value());
  EXPECT_EQ(third.error().status, 429);
  // Those before have expired.
  EXPECT_TRUE(uploads_->add(wav_of(0.1), 1200.0).has_value());
}

TEST_F(UploadsTest, ExpiresAndIsRemembered) {
  const Upload upload = add(0.5);
  EXPECT_EQ(uploads_->find(upload.id, 1100.0).first, Uploads::Lookup::expired);
  uploads_->sweep(1100.0);
  EXPECT_EQ(uploads_->count(), 0);
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(uploads_->find(upload.id, 1100.0).first, Uploads::Lookup::expired);
  EXPECT_EQ(uploads_->find("never", 1100.0).first, Uploads::Lookup::unknown);
  EXPECT_FALSE(uploads_->sound(upload.id).has_value());
  uploads_->sweep(1101.0 + limits_.job_keep_seconds);
  EXPECT_EQ(uploads_->find(upload.id, 5000.0).first, Uploads::Lookup::unknown);
}

TEST_F(UploadsTest, PinsKeepIt) {
  const Upload upload = add(0.5);
  EXPECT_TRUE(uploads_->pin(upload.id));
  EXPECT_TRUE(uploads_->pin(upload.id));
  uploads_->sweep(2000.0);
  EXPECT_TRUE(uploads_->sound(upload.id).has_value());
  uploads_->unpin(upload.id);
  uploads_->sweep(2000.0);
  EXPECT_TRUE(uploads_->sound(upload.id).has_value());
  uploads_->unpin(upload.id);
  uploads_->unpin(upload.id);
  uploads_->sweep(2000.0);
  EXPECT_FALSE(uploads_->sound(upload.id).has_value());
  EXPECT_FALSE(uploads_->pin(upload.id));
}

TEST_F(UploadsTest, DeletedWhilePinnedGoesWithItsJob) {
  const Upload upload = add(0.5);
  EXPECT_TRUE(uploads_->pin(upload.id));
  EXPECT_TRUE(uploads_->remove(upload.id));
  EXPECT_FALSE(uploads_->remove(upload.id));
  EXPECT_EQ(uploads_->find(upload.id, 1000.0).first, Uploads::Lookup::expired);
  EXPECT_FALSE(uploads_->pin(upload.id));
  EXPECT_TRUE(uploads_->sound(upload.id).has_value());
  uploads_->unpin(upload.id);
  EXPECT_EQ(files(), 0U);
}

TEST_F(UploadsTest, DeletedGoesAtOnce) {
  const Upload upload = add(0.5);
  EXPECT_TRUE(uploads_->remove(upload.id));
  EXPECT_EQ(files(), 0U);
  EXPECT_EQ(uploads_->find(upload.id, 1000.0).first, Uploads::Lookup::expired);
  EXPECT_FALSE(uploads_->remove("never"));
}

TEST_F(UploadsTest, SurvivesARestart) {
  const Upload upload = add(0.5);
  open(1010.0);
  const auto [lookup, found] = uploads_->find(upload.id, 1011.0);
  EXPECT_EQ(lookup, Uploads::Lookup::found);
  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->seconds, 0.5);
  EXPECT_EQ(found->expires, 1100.0);
  // Also when it has expired meanwhile: jobs have a minute to take it up.
  open(9000.0);
  EXPECT_TRUE(uploads_->pin(upload.id));
  uploads_->sweep(9100.0);
  EXPECT_TRUE(uploads_->sound(upload.id).has_value());
  uploads_->unpin(upload.id);
  uploads_->sweep(9100.0);
  EXPECT_EQ(files(), 0U);
}

TEST_F(UploadsTest, AStartSweepsUpWhatIsHalfWritten) {
  const Upload whole = add(0.5);
  const Upload cut = add(0.6);
  fs::resize_file(folder_ + "/" + cut.id + ".sound", 10);
  for (const char* name : {"aaaa.sound", "bbbb.json", "cccc.sound.part-AbCdEf", "dddd.json.part-AbCdEf"})
    std::ofstream(folder_ + "/" + name) << "{}";
  std::ofstream(folder_ + "/notes.txt") << "somebody else's";
  open(1010.0);
  EXPECT_EQ(uploads_->count(), 1);
  EXPECT_EQ(files(), 3U);
  EXPECT_TRUE(fs::exists(folder_ + "/notes.txt"));
  EXPECT_TRUE(uploads_->sound(whole.id).has_value());
  EXPECT_EQ(uploads_->find(cut.id, 1010.0).first, Uploads::Lookup::unknown);
}

TEST_F(UploadsTest, NoNameOfAClientBecomesAPath) {
  std::ofstream(folder_ + "/../outside.sound") << wav_of(0.5);
  const auto sound = uploads_->sound("../outside");
  ASSERT_FALSE(sound.has_value());
  EXPECT_EQ(sound.error().code, ErrorCode::not_found);
  EXPECT_FALSE(uploads_->sound_end("../outside", 1.0).has_value());
  fs::remove(folder_ + "/../outside.sound");
}

}  // namespace
}  // namespace continuo::server
