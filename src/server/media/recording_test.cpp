#include "server/media/recording.h"

#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include <atomic>
#include <csignal>
#include <fstream>
#include <thread>

#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using test::Folder;

TEST(RecordingTest, IsReadWhileItGrows) {
  const Folder folder;
  const auto sound = test::rising_tone(10'000, 2);
  const auto recording = test::empty_recording(folder / "take.wav", sound);
  EXPECT_EQ(recording->state(), Recording::State::growing);
  std::vector<float> read(2 * 700);
  EXPECT_EQ(recording->read(0, read).value(), 0);
  ASSERT_TRUE(recording->append(test::frames_of(sound, 0, 1000)));
  EXPECT_EQ(recording->frames(), 1000);
  EXPECT_EQ(recording->read(500, read).value(), 500);
  EXPECT_TRUE(std::equal(read.begin(), read.begin() + 1000, sound.samples.begin() + 1000));
  ASSERT_TRUE(recording->append(test::frames_of(sound, 1000, 9000)));
  EXPECT_EQ(recording->read(9900, read).value(), 100);
  EXPECT_EQ(recording->read(10'000, read).value(), 0);
  EXPECT_EQ(recording->read(20'000, read).value(), 0);
  ASSERT_TRUE(recording->finish());
  EXPECT_EQ(recording->state(), Recording::State::complete);
  EXPECT_EQ(recording->read(3, read).value(), 700);
  EXPECT_TRUE(std::equal(read.begin(), read.end(), sound.samples.begin() + 6));
  EXPECT_FALSE(recording->append(test::frames_of(sound, 0, 1)));
}

TEST(RecordingTest, IsAnOrdinarySoundFileForItsOwnerAlone) {
  const Folder folder;
  const auto sound = test::rising_tone(3001);
  const auto recording = test::complete_recording(folder / "take.wav", sound);
  const auto file = audio::read_wav(folder / "take.wav");
  ASSERT_TRUE(file) << file.error().message;
  EXPECT_EQ(file->samples, sound.samples);
  EXPECT_EQ(file->sample_rate, 32'000);
  struct stat info {};
  ASSERT_EQ(::stat(recording->path().c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777U, 0600U);
}

TEST(RecordingTest, OpensWhatIsComplete) {
  const Folder folder;
  const auto sound = test::rising_tone(500, 2, 44'100);
  test::complete_recording(folder / "take.wav", sound);
  const auto opened = Recording::open(folder / "take.wav");
  ASSERT_TRUE(opened) << opened.error().message;
  EXPECT_EQ((*opened)->state(), Recording::State::complete);
  EXPECT_EQ((*opened)->shape().channels, 2);
  EXPECT_EQ((*opened)->shape().sample_rate, 44'100);
  EXPECT_EQ((*opened)->frames(), 500);
  std::vector<float> read(1000);
  EXPECT_EQ((*opened)->read(0, read).value(), 500);
  EXPECT_EQ(read, sound.samples);
  std::filesystem::remove(folder / "take.wav");
  const auto gone = (*opened)->read(0, read);
  ASSERT_FALSE(gone);
  EXPECT_EQ(gone.error().code, ErrorCode::not_found);
}

TEST(RecordingTest, RefusesWhatIsNotComplete) {
  const Folder folder;
  const auto sound = test::rising_tone(500);
  {
    const auto recording = test::empty_recording(folder / "take.wav", sound);
    ASSERT_TRUE(recording->append(test::frames_of(sound, 0, 499)));
    EXPECT_FALSE(recording->finish());
    EXPECT_EQ(recording->state(), Recording::State::growing);
    EXPECT_FALSE(recording->append(test::frames_of(sound, 0, 2)));
    EXPECT_EQ(recording->state(), Recording::State::growing);
  }
  const auto cut = Recording::open(folder / "take.wav");
  ASSERT_FALSE(cut);
  EXPECT_NE(cut.error().message.find("cut short"), std::string::npos) << cut.error().message;

  const std::string other = folder / "other.wav";
  ASSERT_TRUE(audio::write_wav(other, sound.samples, 1, 32'000, audio::SampleFormat::pcm16));
  EXPECT_EQ(Recording::open(other).error().code, ErrorCode::corrupt_file);
  ASSERT_TRUE(audio::write_wav(other, sound.samples, 1, 32'000, audio::SampleFormat::float32));
  EXPECT_TRUE(Recording::open(other));
  std::ofstream(other, std::ios::app) << "more";
  EXPECT_EQ(Recording::open(other).error().code, ErrorCode::corrupt_file);
  std::ofstream(other, std::ios::trunc) << "RIFF";
  EXPECT_EQ(Recording::open(other).error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(Recording::open(folder.path()).error().code, ErrorCode::corrupt_file);
  EXPECT_EQ(Recording::open(folder / "none.wav").error().code, ErrorCode::not_found);
  EXPECT_FALSE(Recording::create(folder / "none/take.wav", test::shape_of(sound)));
}

TEST(RecordingTest, TellsEachChangeUntilForgotten) {
  const Folder folder;
  const auto sound = test::rising_tone(100);
  const auto recording = test::empty_recording(folder / "take.wav", sound);
  int first = 0, second = 0;
  const auto number = recording->listen([&] { ++first; });
  recording->listen([&] { ++second; });
  ASSERT_TRUE(recording->append(sound.samples));
  recording->forget(number);
  ASSERT_TRUE(recording->finish());
  recording->fail({ErrorCode::cancelled, "too late"});
  EXPECT_EQ(recording->state(), Recording::State::complete);
  EXPECT_EQ(first, 1);
  EXPECT_EQ(second, 2);
}

TEST(RecordingTest, AFailedOneSaysWhy) {
  const Folder folder;
  const auto sound = test::rising_tone(100);
  const auto recording = test::empty_recording(folder / "take.wav", sound);
  ASSERT_TRUE(recording->append(test::frames_of(sound, 0, 50)));
  recording->fail({ErrorCode::cancelled, "the piece was cancelled"});
  EXPECT_EQ(recording->state(), Recording::State::failed);
  EXPECT_EQ(recording->append(test::frames_of(sound, 0, 1)).error().message, "the piece was cancelled");
  EXPECT_EQ(recording->finish().error().code, ErrorCode::cancelled);
  std::vector<float> read(50);
  EXPECT_EQ(recording->read(0, read).value(), 50);
}

TEST(RecordingTest, ANewOneOfTheSameNameLeavesReadersTheirs) {
  const Folder folder;
  const auto sound = test::rising_tone(100);
  const auto before = test::empty_recording(folder / "take.wav", sound);
  ASSERT_TRUE(before->append(sound.samples));
  const auto after = test::empty_recording(folder / "take.wav", sound);
  std::vector<float> read(100);
  EXPECT_EQ(before->read(0, read).value(), 100);
  EXPECT_EQ(read, sound.samples);
  EXPECT_EQ(after->frames(), 0);
}

TEST(RecordingTest, ReadersNeverSeeWhatIsNotWritten) {
  const Folder folder;
  const auto sound = test::rising_tone(200'000);
  const auto recording = test::empty_recording(folder / "take.wav", sound);
  std::atomic<int> wrong = 0;
  const auto reader = [&] {
    std::vector<float> read(5000);
    for (std::int64_t at = 0; at < sound.frames();) {
      const std::int64_t got = recording->read(at, read).value();
      if (!std::equal(read.begin(), read.begin() + got, sound.samples.begin() + at)) ++wrong;
      at += got;
    }
  };
  std::thread first(reader), second(reader);
  for (std::int64_t at = 0; at < sound.frames(); at += 1000) ASSERT_TRUE(recording->append(test::frames_of(sound, at, 1000)));
  ASSERT_TRUE(recording->finish());
  first.join();
  second.join();
  EXPECT_EQ(wrong, 0);
}

// In a child, whose files may not grow beyond 100 kB.
TEST(RecordingTest, AFullDiskFailsItAndLeavesWhatWasThere) {
  const Folder folder;
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    const auto sound = test::rising_tone(40'000);
    const auto recording = test::empty_recording(folder / "take.wav", sound);
    if (!recording->append(test::frames_of(sound, 0, 20'000))) ::_exit(1);
    const Status full = recording->append(test::frames_of(sound, 20'000, 20'000));
    if (full || full.error().message.find("no more room") == std::string::npos) ::_exit(2);
    if (full.error().message.find(folder.path()) != std::string::npos) ::_exit(3);
    if (recording->state() != Recording::State::failed || recording->frames() != 20'000) ::_exit(4);
    std::vector<float> read(20'000);
    if (recording->read(0, read).value_or(0) != 20'000) ::_exit(5);
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace continuo::server
