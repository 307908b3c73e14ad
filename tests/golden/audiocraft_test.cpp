// Checkpoints in audiocraft's own layout against audiocraft itself, which made these goldens.
#include "golden_support.h"

namespace continuo::golden {
namespace {

class Audiocraft : public ::testing::TestWithParam<std::tuple<std::string, std::string>> {
 protected:
  void SetUp() override {
    golden_ = json::parse(*read_text_file(goldens + "audiocraft/golden.json", 1 << 20));
    engine::EngineOptions options;
    options.threads = 2;
    options.kv = "f32";
    options.isa = std::get<1>(GetParam());
    auto source = weights::open_model(converted("audiocraft/" + std::get<0>(GetParam())));
    ASSERT_TRUE(source) << source.error().message;
    engine_ = std::move(*engine::Engine::create(std::move(*source), options));
  }
  /// The rows of a list that belong to this checkpoint.
  std::vector<json> rows(const std::string& list) const {
    std::vector<json> own;
    for (const json& row : golden_[list]) {
      if (row["checkpoint"] == std::get<0>(GetParam())) own.push_back(row);
    }
    EXPECT_FALSE(own.empty()) << list;
    return own;
  }
  static audio::NpyArray array(const json& name) { return *audio::read_npy(goldens + "audiocraft/" + name.get<std::string>()); }
  static std::vector<std::int64_t> integers(const json& name) { return std::get<std::vector<std::int64_t>>(array(name).values); }
  static std::vector<float> floats(const json& name) { return std::get<std::vector<float>>(array(name).values); }

  engine::Request request(const std::string& prompt, const json& row) const {
    engine::Request made = engine::default_request(engine_->config());
    made.prompt = prompt;
    made.seconds = row["frames"].get<int>() / engine_->config().codec.frame_rate();
    made.strategy = engine::Strategy::greedy;
    made.guidance = row["guidance"];
    return made;
  }
  std::vector<std::int64_t> codes_of(const engine::Request& made) {
    const auto clips = engine_->generate(std::span(&made, 1), {}, {});
    EXPECT_TRUE(clips) << clips.error().message;
    return clips ? (*clips)[0].codes : std::vector<std::int64_t>{};
  }

  json golden_;
  std::unique_ptr<engine::Engine> engine_;
};

TEST_P(Audiocraft, GreedyCodes) {
  for (const json& row : rows("greedy")) EXPECT_EQ(integers(row["codes"]), codes_of(request(row["prompts"][0], row)));
}

TEST_P(Audiocraft, Continuation) {
  for (const json& row : rows("continue")) {
    engine::Request made = request(row["prompt"], row);
    made.prompt_codes = integers(row["prompt_codes"]);
    made.prompt_frames = row["prompt_frames"];
    EXPECT_EQ(integers(row["codes"]), codes_of(made));
  }
}

TEST_P(Audiocraft, Codec) {
  for (const json& row : rows("encode")) {
    const auto codes = engine_->encode_audio(floats(row["audio"]));
    ASSERT_TRUE(codes) << codes.error().message;
    EXPECT_EQ(integers(row["codes"]), *codes) << row["name"];
  }
  for (const json& row : rows("decode")) {
    const audio::NpyArray codes = array(row["codes"]);
    const auto audio = engine_->decode_codes(std::get<std::vector<std::int64_t>>(codes.values), static_cast<int>(codes.shape[1]));
    ASSERT_TRUE(audio) << audio.error().message;
    EXPECT_LT(absolute_error(*audio, floats(row["audio"])), 1e-5);
  }
}

INSTANTIATE_TEST_SUITE_P(Checkpoints, Audiocraft,
                         ::testing::Combine(::testing::Values("mono", "mono-f16"), ::testing::ValuesIn(isas())), name_of_case);

TEST(AudiocraftTwin, AStereoModelEqualsItsTwinInTheOtherLayout) {
  const auto ours = std::move(*weights::open_model(converted("audiocraft/stereo"))),
             twin = std::move(*weights::open_model(converted("stereo/model")));
  EXPECT_EQ(twin->config().decoder.delays, ours->config().decoder.delays);
  for (const char* name :
       {"decoder.blk.1.self_k.weight", "decoder.head.7.weight", "text.blk.0.attn_q.weight", "codec.decoder.out.weight"}) {
    const TensorView a = ours->tensor(name), b = twin->tensor(name);
    EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end())) << name;
  }
}

TEST(ShardedTwin, EveryKindOfFileGivesTheSameModel) {
  const auto single = std::move(*weights::open_model(converted("sharded/single")));
  for (const char* kind : {"sharded/safetensors", "sharded/bin", "sharded/bin_sharded"}) {
    const auto other = std::move(*weights::open_model(converted(kind)));
    for (const char* name :
         {"decoder.blk.0.ffn_up.weight", "text.embed.weight", "codec.encoder.in.weight", "codec.quantizer.3.codebook"}) {
      const TensorView a = single->tensor(name), b = other->tensor(name);
      EXPECT_TRUE(std::equal(a.data.begin(), a.data.end(), b.data.begin(), b.data.end())) << kind << " " << name;
    }
  }
}

}  // namespace
}  // namespace continuo::golden
