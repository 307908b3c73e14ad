// Requests, cancelling, progress and batches, on a tiny model.
#include "engine/engine.h"

#include <gtest/gtest.h>

#include <cmath>
#include <filesystem>
#include <numeric>
#include <thread>

#include "engine/piece.h"
#include "weights/convert.h"

namespace continuo::engine {
namespace {

const std::string& tiny_model() {
  struct Model {
    std::string path = std::string(CONTINUO_BINARY_DIR) + "/engine-test-" + std::to_string(::getpid()) + ".gguf";
    Model() {
      const Status status =
          weights::convert_huggingface(std::string(CONTINUO_SOURCE_DIR) + "/tests/goldens/tiny-a/model", path, {});
      if (!status) ADD_FAILURE() << status.error().message;
    }
    ~Model() {
      std::error_code ignored;
      std::filesystem::remove(path, ignored);
    }
  };
  static const Model model;
  return model.path;
}

std::unique_ptr<Engine> make_engine(const EngineOptions& options = {.threads = 2}) {
  return std::move(*Engine::create(std::move(*weights::open_model(tiny_model())), options));
}

Request request_for(const std::string& prompt, double seconds) {
  Request request;
  request.prompt = prompt;
  request.seconds = seconds;
  request.seed = 5;
  request.top_k = 0;
  return request;
}

class Validation : public ::testing::Test {
 protected:
  Validation() : source_(std::move(*weights::open_model(tiny_model()))) {}
  /// What is wrong with a request after `change`; empty if nothing.
  template <class Change>
  std::string wrong(Change&& change) const {
    Request request = default_request(source_->config());
    change(request);
    const Status status = validate(request, source_->config());
    return status ? "" : status.error().message;
  }
  std::unique_ptr<weights::TensorSource> source_;
};

TEST_F(Validation, DefaultsAreTheModelsOwnAndPossible) {
  EXPECT_EQ("", wrong([](Request&) {}));
  const Request request = default_request(source_->config());
  EXPECT_EQ(3.0F, request.guidance);
  EXPECT_LE(request.top_k, source_->config().decoder.codebook_size);
}

TEST_F(Validation, Durations) {
  for (const double seconds : {0.0, -1.0, static_cast<double>(NAN), static_cast<double>(INFINITY), 1e9, 600.02, 0.001}) {
    EXPECT_NE("", wrong([&](Request& r) { r.seconds = seconds; })) << seconds;
  }
  for (const double seconds : {0.02, 10.0, 30.0, 600.0})
    EXPECT_EQ("", wrong([&](Request& r) { r.seconds = seconds; })) << seconds;
  EXPECT_NE(std::string::npos, wrong([](Request& r) { r.seconds = 601.0; }).find("600 s"));
}

TEST_F(Validation, FramesAreRoundedNotCut) {
  // The reference loses a frame for these: 8.2 x 50 is 409.99... in floating point.
  for (const auto& [seconds, frames] : {std::pair{8.2, 410}, {2.3, 115}, {4.1, 205}, {5.1, 255}, {8.7, 435}, {0.02, 1}}) {
    EXPECT_EQ(frames, frame_count(seconds, source_->config())) << seconds;
  }
}

TEST_F(Validation, SamplingSettings) {
  EXPECT_NE("", wrong([](Request& r) { r.top_k = -1; }));
  EXPECT_NE("", wrong([](Request& r) { r.top_k = 65; }));
  EXPECT_EQ("", wrong([](Request& r) { r.top_k = 64; }));
  EXPECT_EQ("", wrong([](Request& r) { r.top_k = 0; }));
  for (const float value : {-0.1F, 1.1F, static_cast<float>(NAN)})
    EXPECT_NE("", wrong([&](Request& r) { r.top_p = value; })) << value;
  for (const float value : {-1.0F, static_cast<float>(NAN), static_cast<float>(INFINITY)}) {
    EXPECT_NE("", wrong([&](Request& r) { r.temperature = value; })) << value;
    EXPECT_NE("", wrong([&](Request& r) { r.guidance = value; })) << value;
  }
  EXPECT_NE("", wrong([](Request& r) { r.take = 0; }));
}

TEST_F(Validation, Prompts) {
  EXPECT_EQ("", wrong([](Request& r) { r.prompt.clear(); }));
  EXPECT_EQ("", wrong([](Request& r) { r.prompt = std::string(5000, 'a'); }));
  EXPECT_NE("", wrong([](Request& r) { r.prompt = std::string(max_prompt_bytes + 1, 'a'); }));
  EXPECT_NE("", wrong([](Request& r) { r.prompt = "\xFF\xFE"; }));
}

TEST(Engine, ClipsHaveExactlyTheFramesAndSamplesAskedFor) {
  const auto engine = make_engine();
  for (const double seconds : {0.02, 0.06, 0.31, 1.0}) {
    const Request request = request_for("soft piano", seconds);
    const auto clips = engine->generate(std::span(&request, 1), {}, {});
    ASSERT_TRUE(clips) << clips.error().message;
    const int frames = static_cast<int>(std::lround(seconds * 50));
    EXPECT_EQ(frames, (*clips)[0].frames);
    EXPECT_EQ(static_cast<std::size_t>(frames * 640), (*clips)[0].audio.size());
    EXPECT_EQ(static_cast<std::size_t>(frames * 4), (*clips)[0].codes.size());
    for (const float sample : (*clips)[0].audio) ASSERT_TRUE(std::isfinite(sample));
  }
}

TEST(Engine, SeedsAndTakesMatterAndRepeat) {
  const auto engine = make_engine();
  std::vector<Request> requests(4, request_for("soft piano", 0.4));
  requests[1].seed = 6;
  requests[2].take = 2;
  const auto clips = std::move(*engine->generate(requests, {}, {}));
  EXPECT_NE(clips[0].codes, clips[1].codes);
  EXPECT_NE(clips[0].codes, clips[2].codes);
  EXPECT_EQ(clips[0].codes, clips[3].codes);
}

TEST(Engine, ALongerPieceBeginsWithTheShorterOne) {
  const auto engine = make_engine();
  Request requests[] = {request_for("soft piano", 0.5), request_for("soft piano", 0.8)};
  auto clips = std::move(*engine->generate(requests, {}, {}));
  const auto equal_frames = [&] {
    for (int t = 0; t < 25; ++t) {
      for (int k = 0; k < 4; ++k) {
        if (clips[0].codes[static_cast<std::size_t>(k * 25 + t)] != clips[1].codes[static_cast<std::size_t>(k * 40 + t)])
          return t;
      }
    }
    return 25;
  };
  EXPECT_EQ(25, equal_frames());
  // A greedy run is what results are compared by: there the reference's late codebooks hear that the early ones have ended.
  for (Request& request : requests) request.strategy = Strategy::greedy;
  clips = std::move(*engine->generate(requests, {}, {}));
  EXPECT_GE(equal_frames(), 25 - 3);
}

TEST(Engine, LessPreciseKeysAndValuesStillMakeMusic) {
  for (const char* kv : {"f16", "int8"}) {
    const auto engine = make_engine({.threads = 1, .kv = kv});
    const Request request = request_for("soft piano", 0.3);
    EXPECT_TRUE(engine->generate(std::span(&request, 1), {}, {})) << kv;
  }
  EXPECT_FALSE(Engine::create(std::move(*weights::open_model(tiny_model())), {.kv = "int2"}));
}

TEST(Engine, CancelsAtAnyStageAndWorksAfterwards) {
  const auto engine = make_engine();
  const Request requests[] = {request_for("soft piano", 28.0), request_for("loud drums", 25.0)};
  const auto whole = std::move(*engine->generate(requests, {}, {}));
  for (const int after : {0, 1, 2, 4, 8}) {
    int asked = 0;
    const auto stopped = engine->generate(requests, {}, [&] { return asked++ >= after; });
    ASSERT_FALSE(stopped) << after;
    EXPECT_EQ(ErrorCode::cancelled, stopped.error().code);
  }
  EXPECT_EQ(whole[0].audio, (*engine->generate(requests, {}, {}))[0].audio);
}

TEST(Engine, ProgressGrowsToTheWhole) {
  const auto engine = make_engine();
  const Request requests[] = {request_for("soft piano", 1.0), request_for("", 0.5)};
  double last = 0.0;
  bool codec = false;
  ASSERT_TRUE(engine->generate(requests,
                               [&](const Progress& progress) {
                                 EXPECT_GE(progress.audio_seconds, last);
                                 EXPECT_DOUBLE_EQ(1.5, progress.audio_seconds_total);
                                 last = progress.audio_seconds;
                                 codec = codec || progress.stage == Stage::codec;
                               },
                               {}));
  EXPECT_DOUBLE_EQ(1.5, last);
  EXPECT_TRUE(codec);
}

TEST(Engine, TellsWhatItHasDone) {
  const auto engine = make_engine();
  EXPECT_EQ(0, engine->status().frames);
  const std::vector<Request> requests{request_for("one", 1.0), request_for("two", 0.5)};
  ASSERT_TRUE(engine->generate(requests, {}, {}).has_value());
  // The engine tells at the beginning of a turn, so a moment after the last event.
  EngineStatus status = engine->status();
  for (int i = 0; i < 500 && (status.running > 0 || status.frames < 75); ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = engine->status();
  }
  EXPECT_EQ(75, status.frames);
  EXPECT_EQ(0, status.rows);
  EXPECT_EQ(status.steps, std::accumulate(status.step_times.counts.begin(), status.step_times.counts.end(), std::int64_t{0}));
  EXPECT_GT(status.step_times.seconds, 0.0);
  EXPECT_GT(status.codec_times.seconds, 0.0);
}

TEST(Engine, WrongRequestsEndBeforeAnyWork) {
  const auto engine = make_engine();
  Request requests[] = {request_for("soft piano", 1.0), request_for("soft piano", -1.0)};
  bool worked = false;
  EXPECT_FALSE(engine->generate(requests, [&](const Progress&) { worked = true; }, {}));
  EXPECT_FALSE(worked);
}

TEST(Engine, WrongCodesAreRefused) {
  const auto engine = make_engine();
  const std::vector<std::int64_t> codes(8, 64);
  EXPECT_FALSE(engine->decode_codes(codes, 2));
  EXPECT_FALSE(engine->decode_codes(std::span(codes).first(7), 2));
  EXPECT_TRUE(engine->decode_codes({}, 0)->empty());
}

TEST(Piece, GivesItsPagesBack) {
  const auto source = std::move(*weights::open_model(tiny_model()));
  const auto executor = std::move(*compute::make_cpu_executor({1, "portable"}));
  const auto decoder = std::move(*music::MusicDecoder::load(*source, *executor));
  const auto pool = std::move(*decoder->make_kv_pool(compute::KvType::f32, 3));
  PieceSettings settings;
  settings.frames = 50;  // 53 steps: two pages
  settings.two_rows = false;
  {
    Piece first(settings, source->config(), {}), second(settings, source->config(), {});
    EXPECT_EQ(2, first.pages());
    EXPECT_TRUE(first.reserve(*pool));
    EXPECT_FALSE(second.reserve(*pool));
    EXPECT_EQ(1, pool->free_pages());
    first.release();
    EXPECT_TRUE(second.reserve(*pool));
  }
  EXPECT_EQ(3, pool->free_pages());
}

}  // namespace
}  // namespace continuo::engine
