#include "server/media/hls.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "audio/media.h"
#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using test::Folder;

std::vector<std::byte> m4a_of(const audio::Sound& sound) {
  std::vector<std::byte> bytes;
  audio::EncoderOptions options;
  options.format = audio::FileFormat::m4a;
  options.channels = sound.channels;
  options.sample_rate = sound.sample_rate;
  const auto encoder = audio::Encoder::create(options, {[&](std::span<const std::byte> more) {
                                                bytes.insert(bytes.end(), more.begin(), more.end());
                                                return Status();
                                              }});
  EXPECT_TRUE(encoder);
  EXPECT_TRUE((*encoder)->push(sound.samples));
  EXPECT_TRUE((*encoder)->finish());
  return bytes;
}

ByteSource source_of(const std::vector<std::byte>& bytes) {
  return [&bytes](std::int64_t offset, std::span<std::byte> out) -> Result<std::size_t> {
    const auto begin = std::min(static_cast<std::size_t>(offset), bytes.size());
    const std::size_t count = std::min(out.size(), bytes.size() - begin);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(begin), count, out.begin());
    return count;
  };
}

Result<FragmentedFile> fragments_of(const std::vector<std::byte>& bytes, bool complete = true) {
  return find_fragments(source_of(bytes), static_cast<std::int64_t>(bytes.size()), complete);
}

TEST(FragmentsTest, AreFoundInARow) {
  for (const int rate : {32'000, 44'100, 48'000}) {
    const auto bytes = m4a_of(test::rising_tone(rate * 7, 2, rate));
    const auto file = fragments_of(bytes);
    ASSERT_TRUE(file) << file.error().message;
    EXPECT_EQ(file->timescale, rate);
    ASSERT_GE(file->fragments.size(), 13U);
    std::int64_t at = file->head_bytes, time = file->fragments.front().start;
    EXPECT_EQ(time, 0);
    for (const Fragment& fragment : file->fragments) {
      EXPECT_EQ(fragment.offset, at);
      EXPECT_EQ(fragment.start, time);
      EXPECT_GT(fragment.duration, 0);
      EXPECT_LT(fragment.duration, rate);
      at += fragment.bytes;
      time += fragment.duration;
    }
    EXPECT_GE(time, rate * 7 + 1024);
    EXPECT_LE(time, rate * 7 + 2 * 1024);
    EXPECT_LE(at, static_cast<std::int64_t>(bytes.size()));
  }
}

TEST(FragmentsTest, TheBeginningOfAFileHasTheBeginningOfThem) {
  const auto bytes = m4a_of(test::rising_tone(32'000 * 2));
  const auto whole = fragments_of(bytes).value();
  for (std::size_t size = 0; size < bytes.size(); size += 7) {
    const auto part = find_fragments(source_of(bytes), static_cast<std::int64_t>(size), false);
    ASSERT_TRUE(part) << size << ": " << part.error().message;
    std::size_t there = 0;
    for (const Fragment& fragment : whole.fragments) {
      if (fragment.offset + fragment.bytes <= static_cast<std::int64_t>(size)) ++there;
    }
    ASSERT_EQ(part->fragments.size(), there) << size;
    EXPECT_EQ(part->head_bytes, static_cast<std::int64_t>(size) >= whole.head_bytes ? whole.head_bytes : 0);
    const auto end = there == 0 ? whole.head_bytes : whole.fragments[there - 1].offset + whole.fragments[there - 1].bytes;
    EXPECT_EQ(find_fragments(source_of(bytes), static_cast<std::int64_t>(size), true).has_value(),
              static_cast<std::int64_t>(size) == end);
  }
}

TEST(FragmentsTest, DamageIsAnErrorOrHarmless) {
  const auto good = m4a_of(test::rising_tone(32'000));
  std::mt19937 random(11);
  int refused = 0;
  for (int i = 0; i < 3000; ++i) {
    auto bytes = good;
    for (int changes = 0; changes < 3; ++changes) {
      // The heads are what is read; most of the file is sound.
      const std::size_t most = i % 2 == 0 ? 1500 : bytes.size();
      bytes[random() % most] = static_cast<std::byte>(random() % 4 == 0 ? 0xFF : random());
    }
    const auto file = fragments_of(bytes, i % 3 == 0);
    if (!file) {
      ++refused;
      continue;
    }
    for (const Fragment& fragment : file->fragments) {
      ASSERT_GE(fragment.offset, 0);
      ASSERT_GE(fragment.duration, 0);
      ASSERT_LE(fragment.offset + fragment.bytes, static_cast<std::int64_t>(bytes.size()));
    }
    (void)write_playlist(segments_of(*file, true), "head", "", "");
  }
  EXPECT_GT(refused, 300);
}

TEST(HlsTest, SegmentsAreGroupsThatStayWhereTheyAre) {
  FragmentedFile file;
  file.head_bytes = 100;
  file.timescale = 1000;
  for (int i = 0; i < 10; ++i) file.fragments.push_back({100 + 10 * i, 10, 512 * i, 512});
  const auto complete = segments_of(file, true), growing = segments_of(file, false);
  ASSERT_EQ(complete.segments.size(), 3U);
  EXPECT_EQ(growing.segments.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(complete.segments[i].offset, static_cast<std::int64_t>(100 + 40 * i));
    EXPECT_EQ(growing.segments[i].offset, complete.segments[i].offset);
    EXPECT_EQ(growing.segments[i].bytes, 40);
    EXPECT_EQ(growing.segments[i].seconds, 2.048);
  }
  EXPECT_EQ(complete.segments[2].bytes, 20);
  EXPECT_EQ(write_playlist(complete, "s/init.mp4?take=1", "s/", ".m4s?take=1"),
            "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:3\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:EVENT\n"
            "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n#EXT-X-MAP:URI=\"s/init.mp4?take=1\"\n"
            "#EXTINF:2.048000,\ns/0.m4s?take=1\n#EXTINF:2.048000,\ns/1.m4s?take=1\n#EXTINF:1.024000,\ns/2.m4s?take=1\n"
            "#EXT-X-ENDLIST\n");
  EXPECT_EQ(write_playlist(growing, "h", "", "").find("ENDLIST"), std::string::npos);
}

/// Head and segments as a player fetches them: what is decoded from them together has no seam, and each of them can be decoded.
TEST(HlsTest, SegmentsOfAGrowingRenditionPlayWithoutSeams) {
  const Folder folder;
  Pool pool(2);
  const auto renditions = Renditions::create(folder / "spool", 1 << 30, pool).value();
  const auto sound = test::rising_tone(32'000 * 9);
  const auto recording = test::empty_recording(folder / "take", sound);
  RenditionFormat format;
  format.format = audio::FileFormat::m4a;
  const auto rendition = renditions->of("take", recording, format).value();
  EXPECT_EQ(find_segments(*rendition)->head_bytes, 0);

  std::vector<std::byte> played, head;
  std::size_t fetched = 0;
  double seconds = 0.0;
  const auto fetch = [&](std::int64_t offset, std::int64_t bytes) {
    std::vector<std::byte> part(static_cast<std::size_t>(bytes));
    EXPECT_EQ(rendition->read(offset, part).value(), part.size());
    return part;
  };
  const auto poll = [&] {
    const auto stream = find_segments(*rendition);
    ASSERT_TRUE(stream) << stream.error().message;
    if (played.empty() && stream->head_bytes > 0) played = head = fetch(0, stream->head_bytes);
    for (; fetched < stream->segments.size(); ++fetched) {
      const Segment& segment = stream->segments[fetched];
      const auto part = fetch(segment.offset, segment.bytes);
      auto alone = head;
      alone.insert(alone.end(), part.begin(), part.end());
      const auto decoded = audio::decode_media(alone, "a segment");
      ASSERT_TRUE(decoded) << decoded.error().message;
      EXPECT_LE(segment.seconds, 3.0);
      played.insert(played.end(), part.begin(), part.end());
      seconds += segment.seconds;
    }
  };
  for (std::int64_t at = 0; at < sound.frames(); at += 16'000) {
    ASSERT_TRUE(recording->append(test::frames_of(sound, at, 16'000)));
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
    poll();
  }
  ASSERT_TRUE(test::wait_until([&] {
    poll();
    return fetched >= 3;
  })) << "segments come while it grows";
  ASSERT_TRUE(recording->finish());
  ASSERT_TRUE(test::ended(*rendition));
  poll();
  EXPECT_TRUE(find_segments(*rendition)->complete);
  EXPECT_EQ(fetched, 5U);
  EXPECT_NEAR(seconds, 9.0, 2048.0 / 32'000);
  const auto all = test::bytes_of(*rendition);
  const auto whole = audio::decode_media(all, "all"), joined = audio::decode_media(played, "joined");
  ASSERT_TRUE(whole && joined);
  EXPECT_EQ(joined->samples, whole->samples);
  // The tone of half of full scale rises without a jump: neighbours differ by no more than its steepness allows.
  float steepest = 0.0F;
  for (std::size_t i = 4000; i + 1 < joined->samples.size() - 4000; ++i) {
    steepest = std::max(steepest, std::abs(joined->samples[i + 1] - joined->samples[i]));
  }
  EXPECT_LT(steepest, 0.5F * 2.0F * 3.1416F * (300.0F + 40.0F * 9.0F) / 32'000.0F * 1.3F);
}

}  // namespace
}  // namespace continuo::server
