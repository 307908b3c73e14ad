// Melody models against transformers: the prefix of chroma and text rows, and the codes that follow it.
#include "golden_support.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"

namespace continuo::golden {
namespace {

class Melody : public Golden {
 protected:
  /// The pitch classes of one of the goldens' recordings; none for null.
  std::vector<int> classes(const json& name) const {
    for (const json& entry : manifest_of_chroma()) {
      if (entry["name"] == name) return entry["classes"].get<std::vector<int>>();
    }
    return {};
  }

 private:
  /// The stereo model's golden uses the mono one's recordings.
  json manifest_of_chroma() const {
    const auto text = read_text_file(goldens + "melody/golden.json", 1 << 20);
    return json::parse(*text)["chroma"];
  }
};

TEST_P(Melody, Prefix) {
  const auto encoder = std::move(*text::T5Encoder::load(*source_, *executor_));
  const auto decoder = std::move(*music::MusicDecoder::load(*source_, *executor_));
  const auto engine = make_engine();
  for (const json& entry : golden_.value("prefix", json::array())) {
    std::vector<float> text(static_cast<std::size_t>(source_->config().decoder.width), 0.0F);
    if (!entry["text"].is_null()) {
      executor_->begin_pass();
      const compute::Tensor projected = decoder->project_text(encoder->encode(*engine->tokenize(entry["text"])));
      text.resize(static_cast<std::size_t>(projected.rows * projected.columns));
      executor_->read(projected, text);
    }
    std::vector<float> got = decoder->prefix(classes(entry["melody"]), text);
    const auto null = decoder->prefix({}, std::vector<float>(text.size(), 0.0F));
    const auto want = floats(entry["prefix"]);
    if (want.size() > got.size()) got.insert(got.end(), null.begin(), null.end());  // conditional, then null
    EXPECT_LT(relative_error(got, want), 5e-5) << entry["name"];
  }
}

TEST_P(Melody, GreedyCodes) {
  const auto engine = make_engine();
  for (const json& entry : golden_["greedy"]) {
    engine::Request request = greedy_request(entry["text"], entry);
    request.melody = classes(entry["melody"]);
    const auto clips = engine->generate(std::span(&request, 1), {}, {});
    ASSERT_TRUE(clips) << clips.error().message;
    EXPECT_EQ(integers(entry["codes"]), (*clips)[0].codes) << entry["name"];
  }
}

TEST_P(Melody, OthersRefuseAMelody) {
  engine::Request request = engine::default_request(source_->config());
  request.melody = {12};
  EXPECT_FALSE(engine::validate(request, source_->config()));
  request.melody = {11};
  EXPECT_TRUE(engine::validate(request, source_->config()));
  const auto plain = std::move(*weights::open_model(converted("tiny-a/model")));
  const Status status = engine::validate(request, plain->config());
  ASSERT_FALSE(status);
  EXPECT_EQ(ErrorCode::unsupported, status.error().code);
}

INSTANTIATE_TEST_SUITE_P(Models, Melody,
                         ::testing::Combine(::testing::Values("melody", "stereo-melody"), ::testing::ValuesIn(isas())),
                         name_of_case);

}  // namespace
}  // namespace continuo::golden
