// The networks against transformers, stage by stage, on the tiny random models of tests/goldens. Every instruction set of this
// machine runs. f32 weights and K/V: error over RMS at most 5e-5 for hidden states and logits, 1e-5 absolute for audio, codes
// identical.
#include "codec/decoder.h"
#include "golden_support.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"

namespace continuo::golden {
namespace {

TEST_P(Golden, TokenIds) {
  const auto engine = make_engine();
  for (const json& entry : golden_["tokens"]) {
    const auto ids = engine->tokenize(entry["text"]);
    ASSERT_TRUE(ids) << ids.error().message;
    EXPECT_EQ(entry["ids"].get<std::vector<int>>(), *ids) << entry["name"];
  }
}

TEST_P(Golden, TextHiddenStates) {
  const auto encoder = std::move(*text::T5Encoder::load(*source_, *executor_));
  for (const json& entry : golden_["hidden"]) {
    executor_->begin_pass();
    const compute::Tensor hidden = encoder->encode(entry["ids"].get<std::vector<int>>());
    std::vector<float> got(static_cast<std::size_t>(hidden.rows * hidden.columns));
    executor_->read(hidden, got);
    EXPECT_LT(relative_error(got, floats(entry["hidden"])), 5e-5) << entry["name"];
  }
}

TEST_P(Golden, LogitsByTeacherForcing) {
  const auto encoder = std::move(*text::T5Encoder::load(*source_, *executor_));
  const auto decoder = std::move(*music::MusicDecoder::load(*source_, *executor_));
  const auto engine = make_engine();
  const auto& config = source_->config().decoder;
  const auto codebooks = static_cast<std::size_t>(config.codebooks), entries = static_cast<std::size_t>(config.codebook_size);
  for (const json& entry : golden_["logits"]) {
    std::unique_ptr<compute::CrossKv> cross;
    if (!entry["text"].is_null()) {
      executor_->begin_pass();
      cross = decoder->condition(decoder->project_text(encoder->encode(*engine->tokenize(entry["text"]))), compute::KvType::f32);
    }
    const auto input = integers(entry["input_ids"]);  // [codebooks, steps]
    const std::size_t steps = input.size() / codebooks;
    const auto pool = std::move(*decoder->make_kv_pool(compute::KvType::f32, 4));
    auto sequence = std::move(*pool->reserve(static_cast<int>(steps)));
    std::vector<float> got(codebooks * steps * entries);  // [codebooks, steps, entries]
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<std::int32_t> ids;
      for (std::size_t k = 0; k < codebooks; ++k) ids.push_back(static_cast<std::int32_t>(input[k * steps + step]));
      const compute::Row row{&sequence, static_cast<int>(step), cross.get()};
      executor_->begin_pass();
      std::vector<float> logits(codebooks * entries);
      executor_->read(decoder->step(std::span(&row, 1), ids, *pool), logits);
      for (std::size_t k = 0; k < codebooks; ++k) {
        std::copy_n(logits.begin() + static_cast<std::ptrdiff_t>(k * entries), entries,
                    got.begin() + static_cast<std::ptrdiff_t>((k * steps + step) * entries));
      }
    }
    const double error = relative_error(got, floats(entry["logits"]));
    RecordProperty(entry["name"].get<std::string>(), std::to_string(error * 1e6));
    EXPECT_LT(error, 5e-5) << entry["name"];
  }
}

TEST_P(Golden, GreedyCodesAloneAndInABatch) {
  const auto engine = make_engine();
  for (const json& entry : golden_["greedy"]) {
    std::vector<engine::Request> requests;
    for (const json& prompt : entry["prompts"]) requests.push_back(greedy_request(prompt, entry));
    const auto clips = engine->generate(requests, {}, {});
    ASSERT_TRUE(clips) << clips.error().message;
    std::vector<std::int64_t> got;
    for (const engine::Clip& clip : *clips) got.insert(got.end(), clip.codes.begin(), clip.codes.end());
    EXPECT_EQ(integers(entry["codes"]), got) << entry["name"];
  }
}

TEST_P(Golden, CodecDecode) {
  const auto engine = make_engine();
  for (const json& entry : golden_["decode"]) {
    const auto audio = engine->decode_codes(integers(entry["codes"]), entry["frames"]);
    ASSERT_TRUE(audio) << audio.error().message;
    EXPECT_LT(absolute_error(*audio, interleaved(floats(entry["audio"]))), 1e-5) << entry["frames"] << " frames";
  }
}

TEST_P(Golden, CodecDecodeDoesNotDependOnItsWindows) {
  const auto decoder = std::move(*codec::CodecDecoder::load(*source_, *executor_));
  const int codebooks = source_->config().codec.codebooks, size = source_->config().codec.codebook_size, frames = 60;
  std::vector<std::int64_t> codes;
  for (int i = 0; i < codebooks * frames; ++i) codes.push_back((i * 7919 + i / 7) % size);
  const auto whole = std::move(*decoder->decode(codes, codebooks, frames, frames));
  for (const int window : {1, 3, 16, 59}) {
    EXPECT_EQ(whole, *decoder->decode(codes, codebooks, frames, window)) << window;
  }
}

TEST_P(Golden, SampledCodesAreTheSameAloneInABatchAndWithAnyThreads) {
  std::vector<engine::Request> requests;
  for (const char* prompt : {"warm jazz piano", "", "a long, slow ambient piece with strings and a distant choir"}) {
    for (const int take : {1, 2}) {
      engine::Request request;
      request.prompt = prompt;
      request.seconds = (20 + 3 * static_cast<int>(requests.size())) / source_->config().codec.frame_rate();
      request.seed = 42;
      request.take = take;
      request.top_k = 0;
      requests.push_back(request);
    }
  }
  const auto engine = make_engine(2);
  const auto together = std::move(*engine->generate(requests, {}, {}));
  EXPECT_NE(together[0].codes, together[1].codes) << "two takes must differ";
  const auto single_threaded = make_engine(1);
  for (std::size_t i = 0; i < requests.size(); ++i) {
    const auto alone = std::move(*single_threaded->generate(std::span(requests).subspan(i, 1), {}, {}));
    EXPECT_EQ(alone[0].codes, together[i].codes) << i;
    EXPECT_EQ(alone[0].audio, together[i].audio) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(Models, Golden,
                         ::testing::Combine(::testing::Values("tiny-a", "tiny-b", "tiny-c", "stereo"),
                                            ::testing::ValuesIn(isas())),
                         name_of_case);

}  // namespace
}  // namespace continuo::golden
