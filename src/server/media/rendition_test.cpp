#include "server/media/rendition.h"

#include <sys/resource.h>
#include <sys/wait.h>

#include <condition_variable>
#include <csignal>
#include <mutex>
#include <random>
#include <set>
#include <thread>

#include "audio/loudness.h"
#include "audio/media.h"
#include "base/file.h"
#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using audio::FileFormat;
using test::Folder;

constexpr FileFormat all_formats[] = {FileFormat::wav, FileFormat::pcm, FileFormat::flac,
                                      FileFormat::mp3, FileFormat::m4a, FileFormat::opus};

RenditionFormat format_of(FileFormat format, bool whole = false) {
  RenditionFormat wanted;
  wanted.format = format;
  wanted.whole = whole;
  return wanted;
}

class RenditionTest : public ::testing::Test {
 protected:
  std::unique_ptr<Renditions> cache(std::int64_t most_bytes = 1 << 30) {
    auto made = Renditions::create(folder_ / "spool", most_bytes, pool_);
    if (!made) throw std::runtime_error(made.error().message);
    return std::move(*made);
  }

  std::shared_ptr<Recording> record(const audio::Sound& sound) {
    return test::complete_recording(folder_ / ("take" + std::to_string(++takes_) + ".wav"), sound);
  }

  /// The bytes of a sound that is there from the beginning.
  std::vector<std::byte> made(const audio::Sound& sound, const RenditionFormat& format) {
    const auto renditions = cache();
    const auto rendition = renditions->of("take", record(sound), format).value();
    EXPECT_TRUE(test::ended(*rendition));
    EXPECT_EQ(rendition->state(), Rendition::State::complete) << rendition->error().value_or(Error{}).message;
    EXPECT_EQ(rendition->whole_size(), rendition->size());
    return test::bytes_of(*rendition);
  }

  audio::Sound decoded(std::span<const std::byte> bytes) {
    auto sound = audio::decode_media(bytes, "the rendition");
    EXPECT_TRUE(sound) << sound.error().message;
    return sound ? std::move(*sound) : audio::Sound{};
  }

  Folder folder_;
  int takes_ = 0;
  Pool pool_{2};
};

/// Reads all of a growing one as a server does: told of changes, at its own pace.
std::vector<std::byte> follow(Rendition& rendition, std::size_t piece, std::chrono::microseconds pause) {
  std::mutex mutex;
  std::condition_variable changed;
  bool told = false;
  const auto listener = rendition.listen([&] {
    const std::lock_guard lock(mutex);
    told = true;
    changed.notify_one();
  });
  std::vector<std::byte> all, part(piece);
  for (;;) {
    const auto state = rendition.state();
    const std::size_t got = rendition.read(static_cast<std::int64_t>(all.size()), part).value();
    all.insert(all.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(got));
    if (got == 0 && state != Rendition::State::growing) break;
    if (got == 0) {
      std::unique_lock lock(mutex);
      if (!changed.wait_for(lock, std::chrono::seconds(30), [&] { return told; })) break;
      told = false;
    }
    if (pause.count() > 0) std::this_thread::sleep_for(pause);
  }
  rendition.forget(listener);
  return all;
}

TEST_F(RenditionTest, SlowAndFastReadersOfAGrowingOneGetTheSameBytes) {
  const auto sound = test::rising_tone(150'000, 2);
  const auto renditions = cache();
  for (const FileFormat format : all_formats) {
    const std::string name = audio::name_of(format);
    const auto recording = test::empty_recording(folder_ / name, sound);
    const auto rendition = renditions->of(name, recording, format_of(format)).value();
    std::vector<std::byte> fast, slow;
    std::thread one([&] { fast = follow(*rendition, 100'000, {}); });
    std::thread other([&] { slow = follow(*rendition, 1000, std::chrono::microseconds(100)); });
    std::mt19937 random(7);
    for (std::int64_t at = 0; at < sound.frames();) {
      const auto count = std::min<std::int64_t>(sound.frames() - at, random() % 9000);
      ASSERT_TRUE(recording->append(test::frames_of(sound, at, count)));
      at += count;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ASSERT_TRUE(recording->finish());
    one.join();
    other.join();
    EXPECT_EQ(rendition->state(), Rendition::State::complete) << name;
    EXPECT_EQ(rendition->whole_size(), static_cast<std::int64_t>(fast.size()));
    EXPECT_TRUE(fast == slow) << name;
    EXPECT_TRUE(fast == made(sound, format_of(format))) << name << ": the recording was there at once";
  }
}

TEST_F(RenditionTest, EveryFormatDecodesToItsLength) {
  const auto sound = test::rising_tone(70'001);
  for (const bool whole : {false, true}) {
    for (const FileFormat format : all_formats) {
      if (format == FileFormat::pcm) continue;
      const auto back = decoded(made(sound, format_of(format, whole)));
      const bool opus = format == FileFormat::opus;
      EXPECT_EQ(back.sample_rate, opus ? 48'000 : 32'000);
      const std::int64_t frames = opus ? 105'002 : 70'001;  // 1.5 times 70001 is 105001.5
      // A stream of mp3 or m4a begins with its encoder's delay (audio/encoder.h), and both end with a whole frame of the codec.
      std::int64_t more = 0;
      if (format == FileFormat::mp3) more = whole ? 0 : 1105 + 1152;
      if (format == FileFormat::m4a) more = whole ? 1023 : 1024 + 1023;
      EXPECT_GE(back.frames(), frames) << audio::name_of(format) << whole;
      EXPECT_LE(back.frames(), frames + more) << audio::name_of(format) << whole;
      if (format != FileFormat::wav) continue;
      EXPECT_NEAR(back.samples[40'000], sound.samples[40'000], 1.0 / 32'768.0);
    }
  }
}

TEST_F(RenditionTest, WavAndPcmSayTheirSizesBeforeTheFirstSample) {
  const auto sound = test::rising_tone(33'333);
  const auto renditions = cache();
  int number = 0;
  for (const auto samples : {audio::SampleFormat::pcm16, audio::SampleFormat::pcm24, audio::SampleFormat::float32}) {
    for (const std::optional<int> rate : {std::optional<int>(), std::optional(44'100)}) {
      for (const int channels : {1, 2}) {
        RenditionFormat format = format_of(samples == audio::SampleFormat::pcm16 && rate ? FileFormat::pcm : FileFormat::wav);
        format.samples = samples;
        format.finish.sample_rate = rate;
        format.finish.channels = channels;
        const std::string name = std::to_string(++number);
        const auto recording = test::empty_recording(folder_ / name, sound);
        const auto rendition = renditions->of(name, recording, format).value();
        const auto announced = rendition->whole_size();
        ASSERT_TRUE(announced);
        EXPECT_EQ(rendition->size(), 0);
        ASSERT_TRUE(recording->append(sound.samples));
        ASSERT_TRUE(recording->finish());
        ASSERT_TRUE(test::ended(*rendition));
        EXPECT_EQ(rendition->size(), *announced) << format.key();
        EXPECT_EQ(rendition->channels(), channels);
        if (format.format == FileFormat::wav) {
          const auto back = audio::decode_wav(test::bytes_of(*rendition), name);
          ASSERT_TRUE(back) << back.error().message;
          EXPECT_EQ(back->frames(), rate ? 45'937 : 33'333);
        }
      }
    }
  }
}

TEST_F(RenditionTest, AWavWithoutWishesIsTheRecordingItself) {
  auto sound = test::rising_tone(20'000);
  sound.samples[77] = 1.7F;  // models exceed full scale
  EXPECT_TRUE(made(sound, format_of(FileFormat::wav)) == audio::encode_wav(sound.samples, 1, 32'000, audio::SampleFormat::pcm16));
}

TEST_F(RenditionTest, WholeOnesAreMadeAsFiles) {
  const auto sound = test::rising_tone(60'000);
  for (const FileFormat format : {FileFormat::flac, FileFormat::mp3, FileFormat::m4a, FileFormat::opus}) {
    const auto recording = test::empty_recording(folder_ / audio::name_of(format), sound);
    const auto renditions = cache();
    const auto rendition = renditions->of("take", recording, format_of(format, true)).value();
    ASSERT_TRUE(recording->append(sound.samples));
    ASSERT_TRUE(recording->finish());
    bool early = false;
    while (rendition->state() == Rendition::State::growing) early = early || (rendition->size() > 0 && !rendition->whole_size());
    EXPECT_FALSE(early) << "a file's beginning may change until its end";
    const std::string path = folder_ / "file";
    audio::EncoderOptions options;
    options.format = format;
    RenditionFormat as_wav = format_of(FileFormat::wav);
    as_wav.samples = audio::SampleFormat::float32;
    if (format == FileFormat::opus) as_wav.finish.sample_rate = 48'000;
    const auto want = decoded(made(sound, as_wav));
    ASSERT_TRUE(audio::write_audio(path, want, options));
    const auto file = MappedFile::open(path);
    ASSERT_TRUE(file);
    const auto got = test::bytes_of(*rendition);
    EXPECT_TRUE(std::equal(got.begin(), got.end(), file->bytes().begin(), file->bytes().end())) << audio::name_of(format);
  }
}

TEST_F(RenditionTest, LoudnessIsMetInTwoPassesOrOnTheWay) {
  const auto sound = test::rising_tone(32'000 * 20, 1, 32'000, 0.05);
  RenditionFormat format = format_of(FileFormat::wav, true);
  format.samples = audio::SampleFormat::float32;
  format.finish.loudness = -18.0;
  EXPECT_NEAR(audio::integrated_loudness(decoded(made(sound, format))).value(), -18.0, 0.05);
  const auto exact = audio::finish_sound(sound, format.finish).value();
  EXPECT_EQ(decoded(made(sound, format)).samples, exact.samples);
  format.whole = false;
  const auto ridden = decoded(made(sound, format));
  EXPECT_NE(ridden.samples, exact.samples);
  audio::Sound end{{ridden.samples.end() - 32'000 * 5, ridden.samples.end()}, 1, 32'000};
  EXPECT_NEAR(audio::integrated_loudness(end).value(), -18.0, 1.0);
}

TEST_F(RenditionTest, LoopsAndFadesAreThoseOfTheFinisher) {
  const auto sound = test::rising_tone(32'000 * 6, 2);
  RenditionFormat format = format_of(FileFormat::wav);
  format.samples = audio::SampleFormat::float32;
  format.finish.loop = audio::LoopOptions{};
  format.finish.loudness = -20.0;
  EXPECT_TRUE(format.made_whole());
  const auto loop = decoded(made(sound, format));
  EXPECT_LT(loop.frames(), sound.frames());
  EXPECT_EQ(loop.samples, audio::finish_sound(sound, format.finish)->samples);

  RenditionFormat faded = format_of(FileFormat::wav);
  faded.samples = audio::SampleFormat::float32;
  faded.finish.fade_in = 1.0;
  faded.finish.fade_out = 2.0;
  faded.finish.channels = 1;
  EXPECT_EQ(decoded(made(sound, faded)).samples, audio::finish_sound(sound, faded.finish)->samples);
}

TEST_F(RenditionTest, AFailedRecordingFailsIt) {
  const auto sound = test::rising_tone(64'000);
  const auto renditions = cache();
  for (const bool begun : {false, true}) {
    const auto recording = test::empty_recording(folder_ / (begun ? "begun" : "not"), sound);
    const auto rendition = renditions->of(begun ? "begun" : "not", recording, format_of(FileFormat::wav)).value();
    if (begun) {
      ASSERT_TRUE(recording->append(test::frames_of(sound, 0, 32'000)));
      ASSERT_TRUE(test::wait_until([&] { return rendition->size() == 44 + 64'000; }));
    }
    recording->fail({ErrorCode::cancelled, "the piece was cancelled"});
    ASSERT_TRUE(test::ended(*rendition));
    EXPECT_EQ(rendition->state(), Rendition::State::failed);
    EXPECT_EQ(rendition->error()->message, "the piece was cancelled");
    EXPECT_EQ(rendition->size(), begun ? 44 + 64'000 : 0);
  }
}

TEST_F(RenditionTest, EqualWishesShareOne) {
  const auto renditions = cache();
  const auto sound = test::rising_tone(32'000);
  const auto recording = record(sound);
  const auto first = renditions->of("take", recording, format_of(FileFormat::mp3)).value();
  const auto second = renditions->of("take", recording, format_of(FileFormat::mp3)).value();
  EXPECT_EQ(first.get(), second.get());
  EXPECT_NE(first.get(), renditions->of("take", recording, format_of(FileFormat::mp3, true))->get());
  EXPECT_NE(first.get(), renditions->of("other", recording, format_of(FileFormat::mp3))->get());
  ASSERT_TRUE(test::ended(*first));
  // Another object of the same take, as after a restart of whoever owns it.
  const auto again = Recording::open(recording->path()).value();
  EXPECT_EQ(first.get(), renditions->of("take", again, format_of(FileFormat::mp3))->get());
}

TEST_F(RenditionTest, OneWhoseRecordingWasGivenUpIsMadeAnew) {
  const auto renditions = cache();
  const auto sound = test::rising_tone(32'000);
  const auto given_up = test::empty_recording(folder_ / "take", sound);
  const auto stuck = renditions->of("take", given_up, format_of(FileFormat::wav)).value();
  const auto fresh = renditions->of("take", record(sound), format_of(FileFormat::wav)).value();
  ASSERT_TRUE(test::ended(*fresh));
  EXPECT_EQ(fresh->state(), Rendition::State::complete);
  given_up->fail({ErrorCode::io, "planted"});
  ASSERT_TRUE(test::ended(*stuck));
  const auto failed = renditions->of("failed", given_up, format_of(FileFormat::wav)).value();
  ASSERT_TRUE(test::ended(*failed));
  EXPECT_NE(failed.get(), renditions->of("failed", record(sound), format_of(FileFormat::wav))->get());
}

TEST_F(RenditionTest, TheLongestUnusedAreDeletedFirst) {
  const auto sound = test::rising_tone(10'000);  // 20044 bytes each
  const auto recording = record(sound);
  const auto renditions = cache(50'000);
  const auto make = [&](const std::string& take) {
    auto rendition = renditions->of(take, recording, format_of(FileFormat::wav)).value();
    EXPECT_TRUE(test::ended(*rendition));
    return rendition;
  };
  const auto held = make("held");
  const Rendition* const a = make("a").get();
  const Rendition* const b = make("b").get();  // too many: a goes
  EXPECT_LE(renditions->bytes(), 50'000);
  EXPECT_EQ(make("b").get(), b);
  const auto c = make("c");
  const auto d = make("d");
  EXPECT_EQ(renditions->bytes(), 3 * 20'044) << "none that is read is deleted";
  EXPECT_EQ(make("held").get(), held.get());
  const auto want = test::bytes_of(*held);
  EXPECT_TRUE(test::bytes_of(*make("a")) == want);
  (void)a;
}

TEST_F(RenditionTest, DroppedOnesStayWithTheirReaders) {
  const auto renditions = cache();
  const auto recording = record(test::rising_tone(10'000));
  const auto held = renditions->of("take", recording, format_of(FileFormat::wav)).value();
  ASSERT_TRUE(test::ended(*held));
  renditions->of("take2", recording, format_of(FileFormat::wav)).value();
  renditions->drop("take");
  EXPECT_EQ(test::bytes_of(*held).size(), 20'044U);
  ASSERT_TRUE(test::wait_until([&] { return renditions->bytes() == 20'044; }));
  EXPECT_NE(held.get(), renditions->of("take", recording, format_of(FileFormat::wav))->get());
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "spool")) << "spool files have no names";
}

TEST_F(RenditionTest, TwentyAtOnceFollowTheirRecordings) {
  const auto sound = test::rising_tone(48'000);
  const auto renditions = cache();
  std::vector<std::shared_ptr<Recording>> recordings;
  std::vector<std::shared_ptr<Rendition>> all;
  for (int i = 0; i < 20; ++i) {
    const std::string take = std::to_string(i);
    RenditionFormat format = format_of(all_formats[i % 6], i % 4 == 3);
    if (i % 5 == 0) format.finish.loudness = -16.0 - i;
    recordings.push_back(test::empty_recording(folder_ / take, sound));
    all.push_back(renditions->of(take, recordings.back(), format).value());
  }
  for (std::int64_t at = 0; at < sound.frames(); at += 4000) {
    for (const auto& recording : recordings) ASSERT_TRUE(recording->append(test::frames_of(sound, at, 4000)));
  }
  for (const auto& recording : recordings) ASSERT_TRUE(recording->finish());
  for (const auto& rendition : all) {
    ASSERT_TRUE(test::ended(*rendition));
    EXPECT_EQ(rendition->state(), Rendition::State::complete) << rendition->error().value_or(Error{}).message;
    EXPECT_TRUE(test::bytes_of(*rendition) == made(sound, rendition->format())) << rendition->format().key();
  }
}

TEST_F(RenditionTest, ThoseThatNeedTheWholeSoundTakeTurnsAndNoneIsForgotten) {
  const auto recording = record(test::rising_tone(64'000));
  const auto renditions = cache();
  std::vector<std::shared_ptr<Rendition>> all;
  for (int i = 0; i < 8; ++i) {
    RenditionFormat format = format_of(FileFormat::mp3, true);
    format.finish.loudness = -30.0 + i;
    auto rendition = renditions->of("take", recording, format).value();
    if (i % 3 == 0) renditions->drop("take");  // in the middle, perhaps
    if (i % 3 != 1) all.push_back(std::move(rendition));
  }
  for (const auto& rendition : all) {
    ASSERT_TRUE(test::ended(*rendition));
    EXPECT_EQ(rendition->state(), Rendition::State::complete);
  }
}

TEST_F(RenditionTest, MayBeLeftInTheMiddle) {
  const auto sound = test::rising_tone(320'000);
  const auto recording = test::empty_recording(folder_ / "take", sound);
  {
    const auto renditions = cache();
    const auto rendition = renditions->of("take", recording, format_of(FileFormat::mp3)).value();
    ASSERT_TRUE(recording->append(test::frames_of(sound, 0, 160'000)));
    ASSERT_TRUE(test::wait_until([&] { return rendition->size() > 0; }));
  }
  EXPECT_TRUE(recording->append(test::frames_of(sound, 160'000, 160'000)));
  EXPECT_TRUE(recording->finish());
}

TEST_F(RenditionTest, KeysTellApartWhatDiffersAndNothingElse) {
  std::set<std::string> keys;
  int formats = 0;
  const auto add = [&](auto change, FileFormat format = FileFormat::flac) {
    RenditionFormat wanted = format_of(format);
    change(wanted);
    keys.insert(wanted.key());
    ++formats;
  };
  for (const FileFormat format : all_formats) add([](RenditionFormat&) {}, format);
  add([](RenditionFormat& f) { f.samples = audio::SampleFormat::pcm24; });
  add([](RenditionFormat& f) { f.bit_rate = 64'000; }, FileFormat::mp3);
  add([](RenditionFormat& f) { f.whole = true; });
  add([](RenditionFormat& f) { f.finish.sample_rate = 44'100; });
  add([](RenditionFormat& f) { f.finish.channels = 2; });
  add([](RenditionFormat& f) { f.finish.loudness = -14.0; });
  add([](RenditionFormat& f) { f.finish.loudness = -14.1; });
  add([](RenditionFormat& f) { f.finish.fade_in = 1.0; });
  add([](RenditionFormat& f) { f.finish.fade_out = 1.0; });
  add([](RenditionFormat& f) { f.finish.keep_level = true; });
  add([](RenditionFormat& f) { f.finish.ceiling_db = -2.0; });
  add([](RenditionFormat& f) { f.finish.gate = audio::GateOptions{}; });
  add([](RenditionFormat& f) { f.finish.gate = audio::GateOptions{-50.0}; });
  add([](RenditionFormat& f) { f.finish.loop = audio::LoopOptions{}; });
  add([](RenditionFormat& f) { f.finish.loop.emplace().crossfade_seconds = 0.5; });
  EXPECT_EQ(keys.size(), static_cast<std::size_t>(formats));

  RenditionFormat wav = format_of(FileFormat::wav), whole = format_of(FileFormat::wav, true);
  whole.bit_rate = 64'000;
  EXPECT_EQ(wav.key(), whole.key());
  wav.finish.loudness = whole.finish.loudness = -14.0;
  EXPECT_NE(wav.key(), whole.key());
  wav.finish.loop = whole.finish.loop = audio::LoopOptions{};
  EXPECT_EQ(wav.key(), whole.key());
}

TEST_F(RenditionTest, WhatCannotBeIsSaidBefore) {
  const Recording::Shape shape{1, 32'000, 320'000};
  for (const FileFormat format : all_formats) EXPECT_TRUE(check_rendition(format_of(format), shape)) << audio::name_of(format);
  RenditionFormat format = format_of(FileFormat::opus);
  EXPECT_EQ(sample_rate_of(format, shape), 48'000);
  EXPECT_EQ(sample_rate_of(format_of(FileFormat::mp3), {1, 24'000, 1}), 48'000);
  EXPECT_EQ(sample_rate_of(format_of(FileFormat::wav), {1, 24'000, 1}), 24'000);
  format.finish.sample_rate = 44'100;
  EXPECT_FALSE(check_rendition(format, shape));
  format = format_of(FileFormat::flac);
  format.samples = audio::SampleFormat::float32;
  EXPECT_FALSE(check_rendition(format, shape));
  format = format_of(FileFormat::wav);
  format.finish.loop = audio::LoopOptions{};
  format.finish.fade_in = 1.0;
  EXPECT_FALSE(check_rendition(format, shape));
  format.finish.loop.reset();
  format.finish.fade_in = 0.0;
  format.samples = audio::SampleFormat::float32;
  EXPECT_FALSE(check_rendition(format, {2, 32'000, std::int64_t{1} << 30})) << "4 GiB";
}

TEST_F(RenditionTest, AFullDiskFailsItWithAReason) {
  const pid_t child = ::fork();
  if (child == 0) {
    ::signal(SIGXFSZ, SIG_IGN);
    const auto sound = test::rising_tone(100'000);
    Pool pool(1);
    const auto renditions = Renditions::create(folder_ / "spool", 1 << 30, pool).value();
    const auto recording = test::complete_recording(folder_ / "take", sound);
    const rlimit limit{100'000, 100'000};
    ::setrlimit(RLIMIT_FSIZE, &limit);
    for (const bool whole : {false, true}) {
      RenditionFormat format = format_of(whole ? FileFormat::flac : FileFormat::wav, whole);
      format.samples = audio::SampleFormat::pcm24;
      const auto rendition = renditions->of("take", recording, format).value();
      if (!test::ended(*rendition) || rendition->state() != Rendition::State::failed) ::_exit(1);
      if (rendition->error()->message.find("no more room") == std::string::npos) ::_exit(2);
    }
    ::_exit(0);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

TEST_F(RenditionTest, TheFolderIsEmptiedAtTheStart) {
  std::filesystem::create_directories(folder_ / "spool");
  ASSERT_TRUE(audio::write_wav(folder_ / "spool/rendition-left", std::vector<float>(10), 1, 32'000, audio::SampleFormat::pcm16));
  const auto renditions = cache();
  EXPECT_TRUE(std::filesystem::is_empty(folder_ / "spool"));
  EXPECT_EQ(std::filesystem::status(folder_ / "spool").permissions(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace continuo::server
