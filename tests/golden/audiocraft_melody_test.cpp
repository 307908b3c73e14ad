// Melody models in audiocraft's own files against audiocraft itself: what it hears of a tune, the rows before the codes, the
// codes. And models whose text or chroma is as wide as the decoder, which audiocraft projects all the same.
#include "audio/chroma.h"
#include "audio/resample.h"
#include "audio/tunes_test.h"
#include "golden_support.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"

namespace continuo::golden {
namespace {

class AudiocraftMelody : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    golden_ = json::parse(*read_text_file(goldens + folder_ + "golden.json", 1 << 20));
    auto source = weights::open_model(converted(folder_ + std::get<0>(GetParam())));
    ASSERT_TRUE(source) << source.error().message;
    source_ = std::move(*source);
    engine::EngineOptions options;
    options.threads = 2;
    options.kv = "f32";
    options.isa = std::get<1>(GetParam());
    engine_ = std::move(
        *engine::Engine::create(std::move(*weights::open_model(converted(folder_ + std::get<0>(GetParam())))), options));
  }

  const weights::ModelConfig& config() const { return source_->config(); }

  /// The rows of a list that belong to this checkpoint.
  std::vector<json> rows(const std::string& list) const {
    std::vector<json> own;
    for (const json& row : golden_[list]) {
      if (row["checkpoint"] == std::get<0>(GetParam())) own.push_back(row);
    }
    return own;
  }
  audio::NpyArray array(const json& name) const { return *audio::read_npy(goldens + folder_ + name.get<std::string>()); }

  /// What we hear of one of the tunes; none for null.
  std::vector<int> classes(const json& name) const {
    for (const json& row : rows("chroma")) {
      if (row["name"] != name) continue;
      const audio::Sound sound = audio::with_channels(audio::testing::play(row), 1);
      const weights::MelodyConfig& melody = config().melody;
      const auto chroma =
          audio::chroma_of(sound.samples, {sound.sample_rate, melody.bins, melody.n_fft, melody.hop, melody.length});
      EXPECT_TRUE(chroma) << chroma.error().message;
      return chroma->classes;
    }
    EXPECT_TRUE(name.is_null());
    return {};
  }

  const std::string folder_ = "audiocraft-melody/";
  json golden_;
  std::unique_ptr<weights::TensorSource> source_;
  std::unique_ptr<engine::Engine> engine_;
};

TEST_P(AudiocraftMelody, HearsTheTune) {
  for (const json& checkpoint : golden_["checkpoints"]) {
    if (checkpoint["name"] != std::get<0>(GetParam())) continue;
    EXPECT_EQ(config().is_melody(), checkpoint["chroma_length"] != 0);
    if (config().is_melody()) {
      EXPECT_EQ(config().melody.length, checkpoint["chroma_length"].get<int>());
    }
    EXPECT_EQ(config().decoder.audio_channels, checkpoint["channels"].get<int>());
    EXPECT_NE(config().always_projects, checkpoint["twin"].get<bool>());
  }
  for (const json& row : rows("chroma")) {
    auto want = row["classes"].get<std::vector<int>>();
    want.resize(std::min(want.size(), static_cast<std::size_t>(config().melody.length)));
    EXPECT_EQ(classes(row["name"]), want) << row["name"];
  }
}

TEST_P(AudiocraftMelody, Prefix) {
  const auto executor = std::move(*compute::make_cpu_executor({2, std::get<1>(GetParam())}));
  const auto encoder = std::move(*text::T5Encoder::load(*source_, *executor));
  const auto decoder = std::move(*music::MusicDecoder::load(*source_, *executor));
  for (const json& row : rows("prefix")) {
    executor->begin_pass();
    const compute::Tensor projected = decoder->project_text(encoder->encode(*engine_->tokenize(row["text"])));
    std::vector<float> text(static_cast<std::size_t>(projected.rows * projected.columns));
    executor->read(projected, text);
    std::vector<float> got = decoder->prefix(classes(row["melody"]), text);
    const auto null = decoder->prefix({}, std::vector<float>(text.size(), 0.0F));
    got.insert(got.end(), null.begin(), null.end());  // with the conditions, then without
    EXPECT_LT(relative_error(got, std::get<std::vector<float>>(array(row["prefix"]).values)), 1e-5) << row["name"];
  }
}

TEST_P(AudiocraftMelody, GreedyCodes) {
  const auto cases = rows("greedy");
  EXPECT_FALSE(cases.empty());
  for (const json& row : cases) {
    engine::Request request = engine::default_request(config());
    request.prompt = row["text"].is_null() ? "" : row["text"].get<std::string>();
    request.seconds = row["frames"].get<int>() / config().codec.frame_rate();
    request.strategy = engine::Strategy::greedy;
    request.guidance = row["guidance"];
    request.melody = classes(row["melody"]);
    const auto clips = engine_->generate(std::span(&request, 1), {}, {});
    ASSERT_TRUE(clips) << clips.error().message;
    EXPECT_EQ(std::get<std::vector<std::int64_t>>(array(row["codes"]).values), (*clips)[0].codes) << row["name"];
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, AudiocraftMelody,
                         ::testing::Combine(::testing::Values("melody", "stereo-melody", "even", "even-melody"),
                                            ::testing::ValuesIn(isas())),
                         name_of_case);

}  // namespace
}  // namespace continuo::golden
