// From sound to codes and on from there, against transformers.
#include "codec/encoder.h"
#include "golden_support.h"

namespace continuo::golden {
namespace {

class Encode : public Golden {};

TEST_P(Encode, CodesAreIdentical) {
  const auto engine = make_engine();
  const json all = manifest("encode.json");
  for (const json& entry : all["encode"]) {
    const auto codes = engine->encode_audio(interleaved(floats(entry["audio"])));
    ASSERT_TRUE(codes) << codes.error().message;
    EXPECT_EQ(integers(entry["codes"]), *codes) << entry["name"];
  }
}

TEST_P(Encode, DoesNotDependOnItsWindows) {
  const auto encoder = std::move(*codec::CodecEncoder::load(*source_, *executor_));
  std::vector<float> audio;
  for (int i = 0; i < 50 * source_->config().codec.hop() + 3; ++i)
    audio.push_back(0.3F * std::sin(0.11F * static_cast<float>(i)) * std::sin(0.0013F * static_cast<float>(i)));
  const auto whole = std::move(*encoder->encode(audio, 1000));
  for (const int window : {1, 7, 50}) EXPECT_EQ(whole, *encoder->encode(audio, window)) << window;
  EXPECT_TRUE(encoder->encode({})->empty());
}

INSTANTIATE_TEST_SUITE_P(Models, Encode,
                         ::testing::Combine(::testing::Values("tiny-a", "tiny-b", "tiny-c", "stereo"),
                                            ::testing::ValuesIn(isas())),
                         name_of_case);

class Continue : public Golden {};

TEST_P(Continue, GreedyCodesAndTheirSound) {
  const auto engine = make_engine();
  const json all = manifest("continue.json");
  for (const json& entry : all["continue"]) {
    engine::Request request = greedy_request(entry["prompt"], entry);
    request.prompt_codes = integers(entry["prompt_codes"]);
    request.prompt_frames = entry["prompt_frames"];
    const auto clips = engine->generate(std::span(&request, 1), {}, {});
    ASSERT_TRUE(clips) << clips.error().message;
    EXPECT_EQ(integers(entry["codes"]), (*clips)[0].codes) << entry["name"];
    const std::vector<float>& audio = (*clips)[0].audio;
    const std::size_t start =
        static_cast<std::size_t>(request.prompt_frames * source_->config().codec.hop() * (*clips)[0].channels);
    EXPECT_LT(absolute_error(std::span(audio).subspan(start), interleaved(floats(entry["audio"]))), 1e-5) << entry["name"];
  }
}

TEST_P(Continue, PromptsThatCannotBeContinuedAreRefused) {
  const auto engine = make_engine();
  engine::Request request = engine::default_request(engine->config());
  const int codebooks = engine->config().decoder.codebooks;
  request.seconds = 10 / engine->config().codec.frame_rate();
  request.prompt_frames = 10;
  request.prompt_codes.assign(static_cast<std::size_t>(10 * codebooks), 1);
  EXPECT_NE(std::string::npos, engine::validate(request, engine->config()).error().message.find("longer piece"));
  request.prompt_frames = 9;
  EXPECT_FALSE(engine::validate(request, engine->config()));
  request.prompt_codes.resize(static_cast<std::size_t>(9 * codebooks));
  EXPECT_TRUE(engine::validate(request, engine->config()));
  request.prompt_codes[3] = engine->config().decoder.codebook_size;
  EXPECT_FALSE(engine::validate(request, engine->config()));
}

INSTANTIATE_TEST_SUITE_P(Models, Continue, ::testing::Combine(::testing::Values("tiny-a", "stereo"), ::testing::ValuesIn(isas())),
                         name_of_case);

}  // namespace
}  // namespace continuo::golden
