#include "server/media/serve.h"

#include <atomic>

#include "server/http/fake_exchange_test.h"
#include "server/media/byte_range.h"
#include "server/media/media_test.h"

namespace continuo::server {
namespace {

using audio::FileFormat;
using test::FakeExchange;
using test::Folder;

class ServeTest : public ::testing::Test {
 protected:
  std::shared_ptr<Rendition> rendition(FileFormat format, const std::shared_ptr<Recording>& recording, bool whole = false) {
    RenditionFormat wanted;
    wanted.format = format;
    wanted.whole = whole;
    return renditions_->of("take", recording, wanted).value();
  }
  std::shared_ptr<Rendition> complete(FileFormat format, bool whole = false) {
    auto made = rendition(format, test::complete_recording(folder_ / "whole", sound_), whole);
    EXPECT_TRUE(test::ended(*made));
    return made;
  }
  std::shared_ptr<Recording> growing() { return test::empty_recording(folder_ / "growing", sound_); }

  void serve(FakeExchange& exchange, std::shared_ptr<Rendition> what, ServeOptions options = {}) {
    options.take = "take";
    test::run_to_end(io_, serve_rendition(exchange, pool_, std::move(what), std::move(options)));
  }
  /// With a field of the head.
  test::Answer asked(const std::shared_ptr<Rendition>& what, const std::string& name, const std::string& value) {
    FakeExchange exchange(io_, "GET");
    exchange.asked.headers[name] = value;
    serve(exchange, what);
    return exchange;
  }
  static std::string text_of(const Rendition& what) {
    const auto bytes = test::bytes_of(what);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  Folder folder_;
  audio::Sound sound_ = test::rising_tone(100'000);
  boost::asio::io_context io_{1};
  Pool pool_{2};
  std::unique_ptr<Renditions> renditions_ = std::move(Renditions::create(folder_ / "spool", 1 << 30, pool_).value());
};

TEST_F(ServeTest, ACompleteOneInOnePiece) {
  const auto flac = complete(FileFormat::flac, true);
  FakeExchange exchange(io_, "GET");
  ServeOptions options;
  options.name = "Käse \"1\"";
  options.download = true;
  options.headers = {{"X-More", "1"}};
  serve(exchange, flac, options);
  EXPECT_EQ(exchange.status, 200);
  EXPECT_EQ(exchange.length, flac->size());
  EXPECT_TRUE(exchange.body == text_of(*flac));
  EXPECT_TRUE(exchange.ended);
  EXPECT_EQ(exchange.header("Content-Type"), "audio/flac");
  EXPECT_EQ(exchange.header("Accept-Ranges"), "bytes");
  EXPECT_EQ(exchange.header("X-Sample-Rate"), "32000");
  EXPECT_EQ(exchange.header("X-Channels"), "1");
  EXPECT_EQ(exchange.header("X-Bit-Depth"), "16");
  EXPECT_EQ(exchange.header("X-More"), "1");
  EXPECT_EQ(exchange.header("Content-Disposition"),
            "attachment; filename=\"K__se _1_.flac\"; filename*=UTF-8''K%C3%A4se%20%221%22.flac");
}

TEST_F(ServeTest, HeadSaysTheSameWithoutABody) {
  const auto wav = complete(FileFormat::wav);
  FakeExchange exchange(io_, "HEAD");
  serve(exchange, wav);
  EXPECT_EQ(exchange.status, 200);
  EXPECT_EQ(exchange.length, 44 + 200'000);
  EXPECT_TRUE(exchange.body.empty());
  EXPECT_TRUE(exchange.ended);
}

TEST_F(ServeTest, RangesOfAKnownSize) {
  const auto wav = complete(FileFormat::wav);
  const std::string all = text_of(*wav);
  const auto part = asked(wav, "range", "bytes=1000-70999");
  EXPECT_EQ(part.status, 206);
  EXPECT_EQ(part.length, 70'000);
  EXPECT_EQ(part.header("Content-Range"), "bytes 1000-70999/200044");
  EXPECT_TRUE(part.body == all.substr(1000, 70'000));
  EXPECT_TRUE(asked(wav, "range", "bytes=200000-").body == all.substr(200'000));
  EXPECT_TRUE(asked(wav, "range", "bytes=-44").body == all.substr(200'000));
  const auto beyond = asked(wav, "range", "bytes=200044-");
  EXPECT_EQ(beyond.status, 416);
  EXPECT_EQ(beyond.header("Content-Range"), "bytes */200044");
  EXPECT_EQ(asked(wav, "range", "bytes=0-1,5-6").status, 200);
  EXPECT_EQ(asked(wav, "range", "seconds=1-2").length, 200'044);
}

TEST_F(ServeTest, TagsDecide) {
  const auto wav = complete(FileFormat::wav);
  const std::string tag = entity_tag("take", wav->format());
  EXPECT_EQ(asked(wav, "if-none-match", "\"other\", W/" + tag).status, 304);
  EXPECT_EQ(asked(wav, "if-none-match", "\"other\"").status, 200);
  EXPECT_EQ(asked(wav, "range", "bytes=0-9").header("ETag"), tag);
  for (const bool same : {true, false}) {
    FakeExchange exchange(io_, "GET");
    exchange.asked.headers["range"] = "bytes=0-9";
    exchange.asked.headers["if-range"] = same ? tag : "Wed, 21 Oct 2015 07:28:00 GMT";
    serve(exchange, wav);
    EXPECT_EQ(exchange.status, same ? 206 : 200);
  }
  EXPECT_NE(entity_tag("other", wav->format()), tag);
  EXPECT_NE(entity_tag("take", complete(FileFormat::flac)->format()), tag);
}

TEST_F(ServeTest, AGrowingWavHasItsLengthAndRangesWait) {
  const auto recording = growing();
  const auto wav = rendition(FileFormat::wav, recording);
  FakeExchange slow(io_, "GET"), fast(io_, "GET"), end(io_, "GET");
  slow.pause_per_write = std::chrono::milliseconds(3);
  end.asked.headers["range"] = "bytes=199044-199053";
  int running = 3;
  const auto follow = [&](FakeExchange& exchange) -> Task<void> {
    ServeOptions options;
    options.take = "take";
    co_await serve_rendition(exchange, pool_, wav, std::move(options));
    --running;
  };
  for (FakeExchange* exchange : {&slow, &fast, &end}) {
    boost::asio::co_spawn(io_, follow(*exchange), [](std::exception_ptr error) { EXPECT_EQ(error, nullptr); });
  }
  const auto write = [&]() -> Task<void> {
    boost::asio::steady_timer timer(io_);
    timer.expires_after(std::chrono::milliseconds(20));
    co_await timer.async_wait(boost::asio::use_awaitable);
    EXPECT_FALSE(slow.streamed) << "there is no sound yet, so all can still go wrong";
    for (std::int64_t at = 0; at < 100'000; at += 5000) {
      EXPECT_TRUE(recording->append(test::frames_of(sound_, at, 5000)));
      timer.expires_after(std::chrono::milliseconds(2));
      co_await timer.async_wait(boost::asio::use_awaitable);
      if (at == 90'000) {
        EXPECT_TRUE(end.streamed);
        EXPECT_TRUE(end.body.empty());
      }
    }
    EXPECT_TRUE(recording->finish());
  };
  test::run_to_end(io_, write());
  EXPECT_EQ(running, 0);
  EXPECT_EQ(slow.length, 200'044);
  EXPECT_TRUE(slow.body == text_of(*wav));
  EXPECT_TRUE(fast.body == slow.body);
  EXPECT_EQ(end.status, 206);
  EXPECT_TRUE(end.body == slow.body.substr(199'044, 10));
}

TEST_F(ServeTest, AGrowingMp3GoesOutInChunks) {
  const auto recording = growing();
  const auto mp3 = rendition(FileFormat::mp3, recording);
  FakeExchange exchange(io_, "GET");
  exchange.asked.headers["range"] = "bytes=0-";
  std::atomic<bool> early = false;
  exchange.after_write = [&] {
    if (recording->state() != Recording::State::growing) return;
    early = true;
    EXPECT_TRUE(recording->append(test::frames_of(sound_, 50'000, 50'000)));
    EXPECT_TRUE(recording->finish());
  };
  ASSERT_TRUE(recording->append(test::frames_of(sound_, 0, 50'000)));
  serve(exchange, mp3);
  EXPECT_TRUE(early);
  EXPECT_EQ(exchange.status, 200);
  EXPECT_FALSE(exchange.length);
  EXPECT_EQ(exchange.header("Accept-Ranges"), "none");
  EXPECT_EQ(exchange.header("X-Bit-Depth"), "");
  EXPECT_TRUE(exchange.ended);
  EXPECT_TRUE(exchange.body == text_of(*mp3));
}

TEST_F(ServeTest, AFailureBeforeTheFirstSoundIsAnError) {
  const auto recording = growing();
  const auto wav = rendition(FileFormat::wav, recording);
  recording->fail({ErrorCode::cancelled, "the piece was cancelled"});
  FakeExchange exchange(io_, "GET");
  serve(exchange, wav);
  EXPECT_FALSE(exchange.streamed);
  EXPECT_EQ(exchange.status, 409);
  EXPECT_NE(exchange.body.find("the piece was cancelled"), std::string::npos);
}

TEST_F(ServeTest, AFailureAfterItBreaksTheBody) {
  for (const FileFormat format : {FileFormat::wav, FileFormat::mp3}) {
    const auto recording = growing();
    const auto made = rendition(format, recording);
    FakeExchange exchange(io_, "GET");
    exchange.after_write = [&] { recording->fail({ErrorCode::io, "planted"}); };
    ASSERT_TRUE(recording->append(test::frames_of(sound_, 0, 50'000)));
    serve(exchange, made);
    EXPECT_EQ(exchange.status, 200);
    EXPECT_TRUE(exchange.aborted);
    EXPECT_FALSE(exchange.ended);
  }
}

TEST_F(ServeTest, AHangUpEndsItWhereverItIs) {
  for (const bool begun : {false, true}) {
    const auto recording = growing();
    const auto wav = rendition(FileFormat::wav, recording);
    ASSERT_TRUE(recording->append(test::frames_of(sound_, 0, begun ? 1000 : 0)));
    FakeExchange exchange(io_, "GET");
    boost::asio::steady_timer timer(io_, std::chrono::milliseconds(30));
    timer.async_wait([&](const boost::system::error_code&) { exchange.hang_up(); });
    serve(exchange, wav);
    EXPECT_EQ(exchange.streamed, begun);
    EXPECT_FALSE(exchange.ended);
    EXPECT_FALSE(exchange.aborted);
  }
}

TEST(ByteRangeTest, WhatFieldsSay) {
  using Kind = RangeWish::Kind;
  const auto is = [](std::string_view header, Kind kind, std::int64_t first = 0, std::int64_t last = 0) {
    const RangeWish wish = parse_range(header, 100);
    EXPECT_EQ(wish.kind, kind) << header;
    if (wish.kind == Kind::part) {
      EXPECT_EQ(wish.part.first, first) << header;
      EXPECT_EQ(wish.part.last, last) << header;
    }
  };
  is("bytes=0-0", Kind::part, 0, 0);
  is("bytes=0-", Kind::part, 0, 99);
  is("Bytes = 10-20 ", Kind::part, 10, 20);
  is("bytes=10-1000", Kind::part, 10, 99);
  is("bytes=99-99999999999999999999999999", Kind::part, 99, 99);
  is("bytes=-1", Kind::part, 99, 99);
  is("bytes=-1000", Kind::part, 0, 99);
  for (const char* none : {"bytes=100-", "bytes=-0", "bytes=99999999999999999999999999-"}) is(none, Kind::none);
  for (const char* all : {"", "bytes", "bytes=", "bytes=-", "bytes=5", "bytes=20-10", "bytes=a-b", "bytes=1-b", "bytes=0x1-2",
                          "bytes=+1-2", "bytes=--5", "bytes=1-2-3", "bytes=0-1,3-4", "items=0-1", "=0-1"}) {
    is(all, Kind::all);
  }
  EXPECT_EQ(parse_range("bytes=0-", 0).kind, Kind::none);
  EXPECT_TRUE(names_tag("*", "\"a\""));
  EXPECT_TRUE(names_tag("\"b\" , W/\"a\"", "\"a\""));
  EXPECT_FALSE(names_tag("\"b\",", "\"a\""));
  EXPECT_FALSE(names_tag("", "\"a\""));
}

}  // namespace
}  // namespace continuo::server
