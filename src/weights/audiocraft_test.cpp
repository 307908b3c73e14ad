#include "weights/audiocraft.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <functional>

#include "base/half.h"
#include "weights/audiocraft_fixtures_test.h"
#include "weights/convert.h"
#include "weights/huggingface.h"
#include "weights/tensor_source.h"

namespace continuo::weights {
namespace {

using namespace testing;

void expect_same_tensors(const CheckpointModel& model, const CheckpointModel& twin) {
  const auto layout = musicgen_layout(model.config());
  ASSERT_EQ(layout.size(), musicgen_layout(twin.config()).size());
  for (const TensorSpec& spec : layout) ASSERT_EQ(values_of(model, spec), values_of(twin, spec)) << spec.name;
}

TEST(Audiocraft, EqualsItsTwinOfTransformers) {
  const TemporaryFolder folder;
  const SmallAudiocraft checkpoint;
  checkpoint.write(folder.path("small"));
  checkpoint.twin.write(folder.path("twin"));
  const auto model = AudiocraftModel::open(folder.path("small"), folder.path("small/t5"));
  ASSERT_TRUE(model) << model.error().message;
  const auto twin = HuggingFaceModel::open(folder.path("twin"));
  ASSERT_TRUE(twin) << twin.error().message;
  expect_same_tensors(*model, *twin);
  const ModelConfig& config = model->config();
  EXPECT_EQ(config.name, "small");
  EXPECT_EQ(config.text.head_width, 3);
  EXPECT_EQ(config.decoder.heads, 2);
  EXPECT_EQ(config.decoder.feed_forward, 12);
  EXPECT_EQ(config.decoder.special_id, 4);
  EXPECT_EQ(config.decoder.activation, Activation::gelu_erf);
  EXPECT_EQ(config.decoder.delays, (std::vector<int>{0, 1}));
  EXPECT_EQ(config.decoder.max_frames, 500);  // 3 s of 1000 / 6 frames
  EXPECT_EQ(config.codec.pad_mode, PadMode::constant);
  EXPECT_FALSE(config.codec.causal);
  EXPECT_FALSE(config.codec.conv_shortcut);
}

TEST(Audiocraft, ReadsWhatAudiocraftWrote) {
  const std::string goldens = source_path("tests/goldens/audiocraft/");
  if (!std::filesystem::exists(goldens)) GTEST_SKIP() << "no goldens";
  const auto mono = AudiocraftModel::open(goldens + "mono", goldens + "t5");
  ASSERT_TRUE(mono) << mono.error().message;
  const auto half = AudiocraftModel::open(goldens + "mono-f16", goldens + "t5");
  ASSERT_TRUE(half) << half.error().message;
  for (const TensorSpec& spec : musicgen_layout(mono->config())) {
    if (!spec.name.starts_with("decoder.")) continue;
    std::vector<float> expected = values_of(*mono, spec);
    for (float& value : expected) value = half_to_float(float_to_half(value));
    ASSERT_EQ(values_of(*half, spec), expected) << spec.name;
  }
  const auto stereo = AudiocraftModel::open(goldens + "stereo", goldens + "t5");
  ASSERT_TRUE(stereo) << stereo.error().message;
  const auto twin = HuggingFaceModel::open(source_path("tests/goldens/stereo/model"));
  ASSERT_TRUE(twin) << twin.error().message;
  expect_same_tensors(*stereo, *twin);
  EXPECT_EQ(stereo->config().decoder.delays, twin->config().decoder.delays);
  EXPECT_EQ(stereo->config().decoder.audio_channels, 2);
  EXPECT_EQ(stereo->config().codec.codebooks, twin->config().codec.codebooks);
  EXPECT_EQ(stereo->config().decoder.heads, twin->config().decoder.heads);
  EXPECT_EQ(stereo->config().decoder.feed_forward, twin->config().decoder.feed_forward);
  EXPECT_EQ(stereo->config().codec.pad_mode, twin->config().codec.pad_mode);

  const TemporaryFolder folder;  // a language model beside a file that only names the codec
  std::filesystem::copy(goldens + "mono/state_dict.bin", folder.path("state_dict.bin"));
  std::filesystem::copy(goldens + "pretrained/compression_state_dict.bin", folder.path("compression_state_dict.bin"));
  const auto pointer = AudiocraftModel::open(folder.path(), goldens + "t5");
  ASSERT_FALSE(pointer);
  EXPECT_NE(pointer.error().message.find("only names its codec, 'facebook/encodec_32khz'"), std::string::npos);
}

TEST(Audiocraft, ReadsOlderAndLargerForms) {
  const TemporaryFolder folder;
  SmallAudiocraft checkpoint;
  replace_in(checkpoint.decoder_yaml, "modeling: delay", "modeling: null");  // before patterns had a section
  replace_in(checkpoint.decoder_yaml, "card: 4", "card: 4\n  q_modeling: delay");
  replace_in(checkpoint.codec_yaml, "n_q: 2", "n_q: 3");  // more codebooks than the decoder uses
  checkpoint.codec["quantizer.vq.layers.2._codebook.embed"] = {{4, 3}, std::vector<float>(12, 0.0F)};
  checkpoint.codec["quantizer.vq.layers.0._codebook.inited"] = {{1}, {1.0F}};
  checkpoint.codec["quantizer.vq.layers.1._codebook.embed_avg"] = {{4, 3}, std::vector<float>(12, 0.0F)};
  checkpoint.write(folder.path());
  const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().decoder.delays, (std::vector<int>{0, 1}));
  EXPECT_EQ(model->config().codec.codebooks, 2);
}

struct Wrong {
  const char* kind;
  std::function<void(SmallAudiocraft&)> damage;
  const char* reason;
};

std::function<void(SmallAudiocraft&)> decoder_setting(const char* from, const char* to) {
  return [=](SmallAudiocraft& c) { replace_in(c.decoder_yaml, from, to); };
}
std::function<void(SmallAudiocraft&)> codec_setting(const char* from, const char* to) {
  return [=](SmallAudiocraft& c) { replace_in(c.codec_yaml, from, to); };
}

const Wrong wrong[] = {
    {"MAGNeT", decoder_setting("lm_model: transformer_lm", "lm_model: transformer_lm_magnet"), "'transformer_lm_magnet'"},
    {"post-norm", decoder_setting("norm_first: true", "norm_first: false"), "norm_first is off"},
    {"rotary positions", decoder_setting("positional_embedding: sin", "positional_embedding: rope"), "'rope'"},
    {"biases", decoder_setting("bias_ff: false", "bias_ff: true"), "transformer_lm.bias_ff is set"},
    {"grouped attention", decoder_setting("kv_repeat: 1", "kv_repeat: 2"), "transformer_lm.kv_repeat is 2"},
    {"a limited past", decoder_setting("past_context: null", "past_context: 100"), "transformer_lm.past_context is set"},
    {"another activation", decoder_setting("activation: gelu", "activation: swiglu"), "'swiglu'"},
    {"another pattern", decoder_setting("modeling: delay", "modeling: unroll"), "codebooks_pattern.modeling is 'unroll'"},
    {"a flattened start", decoder_setting("flatten_first: 0", "flatten_first: 1"), "flatten_first is 1"},
    {"delays of another model", decoder_setting("delays: [0, 1]", "delays: [0, 1, 2]"), "musicgen.delays has 3 entries"},
    {"stereo by time steps", decoder_setting("per_timestep: false", "per_timestep: true"), "per_timestep is set"},
    {"two channels in one", decoder_setting("channels: 1", "channels: 2"), "2 audio channels without interleaved"},
    {"another condition", decoder_setting("conditioners:\n", "conditioners:\n  genre: {model: lut}\n"), "'genre' is not"},
    {"a melody at another rate",
     [](SmallAudiocraft& c) {
       make_melody(c);
       replace_in(c.decoder_yaml, "sample_rate: 1000, n_chroma", "sample_rate: 500, n_chroma");
     },
     "chroma_stem.sample_rate is 500; only 1000 is supported"},
    {"another text encoder", decoder_setting("model: t5", "model: clap"), "'clap'"},
    {"summed conditions", decoder_setting("sum: []", "sum: [description]"), "fuser combines"},
    {"no width", decoder_setting("  dim: 8\n", ""), "'transformer_lm.dim' is not there"},
    {"a word for a width", decoder_setting("dim: 8", "dim: wide"), "'transformer_lm.dim' is not a whole number"},
    {"a width in a circle", decoder_setting("dim: 8", "dim: ${transformer_lm.dim}"), "in circles"},
    {"too many layers", decoder_setting("num_layers: 2", "num_layers: 100000"), "musicgen.block_count is 100000"},
    {"a layer more", decoder_setting("num_layers: 2", "num_layers: 3"),
     "'transformer.layers.2.norm1.weight' is missing, which xp.cfg demands"},
    {"a layer less", decoder_setting("num_layers: 2", "num_layers: 1"), "is not part of the model that xp.cfg describes"},
    {"heads that do not divide", decoder_setting("num_heads: 2", "num_heads: 3"), "not a multiple of the 3 heads"},
    {"a wider feed-forward", decoder_setting("hidden_scale: 1.5", "hidden_scale: 2"),
     "has the shape [12, 8], but xp.cfg demands"},
    {"a window without end", decoder_setting("segment_duration: 3", "segment_duration: 1e9"), "segment_duration is"},
    {"another rate", decoder_setting("sample_rate: 1000", "sample_rate: 2000"), "1000: they are parts of different models"},
    {"yaml that is none", decoder_setting("sample_rate: 1000", "sample_rate: ["), "not valid yaml"},
    {"another codec", codec_setting("compression_model: encodec", "compression_model: dac"), "'dac'"},
    {"normalised audio", codec_setting("renormalize: false", "renormalize: true"), "encodec.renormalize is set"},
    {"a stereo codec", codec_setting("channels: 1", "channels: 2"), "seanet.channels is 2"},
    {"group norm", codec_setting("norm: weight_norm", "norm: time_group_norm"), "'time_group_norm'"},
    {"another alpha", codec_setting("alpha: 1.0", "alpha: 0.5"), "alpha is 0.5"},
    {"circular padding", codec_setting("pad_mode: constant", "pad_mode: circular"), "'circular'"},
    {"a tanh at the end", codec_setting("final_activation: null", "final_activation: Tanh"), "final_activation is set"},
    {"an encoder of its own", codec_setting("encoder: {}", "encoder: {lstm: 1}"), "seanet.encoder.lstm is set for one side"},
    {"hops that overflow", codec_setting("ratios: [3, 2]", "ratios: [65536, 65536, 65536]"), "an entry of codec.ratios"},
    {"no ratios", codec_setting("ratios: [3, 2]", "ratios: []"), "codec.ratios has 0 entries"},
    {"codebooks of another model", codec_setting("bins: 4", "bins: 8"), "parts of different models"},
    {"fewer codebooks", codec_setting("n_q: 2", "n_q: 1"), "the codec 1: they are parts of different models"},
    {"a missing tensor", [](SmallAudiocraft& c) { c.decoder.erase("out_norm.bias"); }, "'out_norm.bias' is missing"},
    {"a fused tensor of two parts",
     [](SmallAudiocraft& c) {
       auto& fused = c.decoder["transformer.layers.0.self_attn.in_proj_weight"];
       fused.shape = {16, 8};
       fused.values.resize(128);
     },
     "'transformer.layers.0.self_attn.in_proj_weight' has the shape [16, 8], but xp.cfg demands [24, 8]"},
    {"a stranger",
     [](SmallAudiocraft& c) {
       c.decoder["transformer.layers.0.linear1.bias"] = {{12}, std::vector<float>(12)};
     },
     "'transformer.layers.0.linear1.bias' is not part of the model"},
    {"text encoder of another width", [](SmallAudiocraft& c) { c.twin.config["text_encoder"]["d_model"] = 7; }, "demands"},
    {"no T5", [](SmallAudiocraft& c) { c.twin.config["text_encoder"]["model_type"] = "bert"; }, "this is a 'bert' model"},
};

TEST(Audiocraft, RefusesInOneSentenceByKind) {
  for (const Wrong& example : wrong) {
    SCOPED_TRACE(example.kind);
    const TemporaryFolder folder;
    SmallAudiocraft checkpoint;
    example.damage(checkpoint);
    checkpoint.write(folder.path());
    const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
    if (model) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    const std::string& message = model.error().message;
    EXPECT_NE(message.find(example.reason), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(folder.path())) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
  }
}

TEST(Audiocraft, SaysWhatAFolderLacks) {
  const TemporaryFolder folder;
  SmallAudiocraft().write(folder.path());
  const auto reason = [&](const std::string& t5) {
    const auto model = AudiocraftModel::open(folder.path(), t5);
    return model ? std::string("accepted") : model.error().message;
  };
  EXPECT_NE(reason("").find("give the folder of 't5-base' (config.json, weights, spiece.model) with --t5"), std::string::npos);
  EXPECT_NE(reason(folder.path("absent")).find("absent/config.json"), std::string::npos);
  using pickled::text;
  const auto file = [](const std::string& body) { return zip_of(torch_members(pickled::program(body), {})); };
  folder.write("compression_state_dict.bin",
               file(pickled::dict({{"pretrained", text("facebook/encodec_32khz")}, {"version", "N"}})));
  EXPECT_NE(reason("x").find("it only names its codec, 'facebook/encodec_32khz'; put the compression_state_dict.bin of"),
            std::string::npos);
  folder.write("compression_state_dict.bin", file(pickled::dict({{"model", "}"}})));
  EXPECT_NE(reason("x").find("it has no 'best_state'"), std::string::npos);
  folder.write("compression_state_dict.bin", file(pickled::dict({{"best_state", "}"}, {"xp.cfg", "}"}})));
  EXPECT_NE(reason("x").find("'xp.cfg' is not a text"), std::string::npos);
  std::filesystem::remove(folder.path("compression_state_dict.bin"));
  EXPECT_NE(reason("x").find("no compression_state_dict.bin"), std::string::npos);
}

TEST(Audiocraft, IsConvertedAsWhatItIs) {
  const TemporaryFolder folder;
  const SmallAudiocraft checkpoint;
  checkpoint.write(folder.path("m"));
  const std::string output = folder.path("out.gguf");
  ConvertOptions options;
  EXPECT_FALSE(convert(folder.path("m"), output, options));
  options.t5 = folder.path("m/t5");
  ASSERT_TRUE(convert(folder.path("m"), output, options));
  const auto model = open_model(output);
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->config().codec.pad_mode, PadMode::constant);

  checkpoint.twin.write(folder.path("m"));  // both layouts in one folder, as published
  options.t5.clear();
  ASSERT_TRUE(convert(folder.path("m"), output, options));
  EXPECT_EQ((*open_model(output))->config().codec.pad_mode, PadMode::reflect);  // transformers' default
  options.t5 = folder.path("m/t5");
  ASSERT_TRUE(convert(folder.path("m"), output, options));
  EXPECT_EQ((*open_model(output))->config().codec.pad_mode, PadMode::constant);
  std::filesystem::remove(folder.path("m/state_dict.bin"));
  const Status status = convert(folder.path("m"), output, options);
  ASSERT_FALSE(status);
  EXPECT_NE(status.error().message.find("leave out --t5"), std::string::npos);
}

}  // namespace
}  // namespace continuo::weights
