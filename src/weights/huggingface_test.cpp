#include "weights/huggingface.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>

#include "weights/fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

TEST(HuggingFace, ReadsTheConfig) {
  const TemporaryFolder folder;
  SmallCheckpoint checkpoint;
  checkpoint.config["_name_or_path"] = "somebody/small-music";
  checkpoint.config["decoder"]["scale_embedding"] = true;
  checkpoint.config["text_encoder"]["layer_norm_epsilon"] = 1e-5;
  checkpoint.config["audio_encoder"]["pad_mode"] = "constant";
  checkpoint.write(folder.path());
  folder.write("generation_config.json", R"({"guidance_scale":2.5,"top_p":1.0,"temperature":0.5})");
  folder.write("README.md", "---\nlicense: cc-by-nc-4.0\ntags:\n- music\n---\n# Model\n");
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  const ModelConfig& config = model->config();
  EXPECT_EQ(config.name, "small-music");
  EXPECT_EQ(config.source, "somebody/small-music");
  EXPECT_EQ(config.license, "CC-BY-NC-4.0");
  EXPECT_EQ(config.text.vocabulary, 12);
  EXPECT_EQ(config.text.relative_buckets, 32);
  EXPECT_EQ(config.text.norm_epsilon, 1e-5F);
  EXPECT_EQ(config.decoder.embedding_scale, std::sqrt(8.0F));
  EXPECT_EQ(config.decoder.activation, Activation::gelu_erf);
  EXPECT_EQ(config.decoder.max_frames, 2048);  // 30 s would be 5000, more than its positions
  EXPECT_EQ(config.decoder.delays, (std::vector<int>{0, 1}));
  EXPECT_EQ(config.codec.kernel, 7);
  EXPECT_EQ(config.codec.pad_mode, PadMode::constant);
  EXPECT_EQ(config.defaults.guidance, 2.5F);
  EXPECT_EQ(config.defaults.top_k, 250);
  EXPECT_EQ(config.defaults.top_p, 0.0F);  // transformers' 1.0 means no cut
  EXPECT_EQ(config.tokenizer.unknown_id, 2);
}

TEST(HuggingFace, ReadsStereo) {
  const TemporaryFolder folder;
  SmallCheckpoint(small_stereo_config()).write(folder.path());
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().decoder.audio_channels, 2);
  EXPECT_EQ(model->config().decoder.codebooks, 4);
  EXPECT_EQ(model->config().decoder.delays, (std::vector<int>{0, 0, 1, 1}));
  EXPECT_EQ(model->config().codec.codebooks, 2);
}

TEST(HuggingFace, ReadsMelody) {
  const TemporaryFolder folder;
  const SmallCheckpoint checkpoint(small_melody_config());
  checkpoint.write(folder.path());
  const auto read = [&]() -> Result<MelodyConfig> {
    CONTINUO_TRY(const HuggingFaceModel model, HuggingFaceModel::open(folder.path()));
    return model.config().melody;
  };
  auto melody = read();
  ASSERT_TRUE(melody) << melody.error().message;
  EXPECT_EQ(melody->bins, 12);
  EXPECT_EQ(melody->length, 5);
  EXPECT_EQ(melody->n_fft, 16384);  // the feature extractor's default
  EXPECT_EQ(melody->hop, 4096);
  folder.write("processor_config.json", R"({"feature_extractor":{"n_fft":512,"hop_length":128}})");
  melody = read();
  ASSERT_TRUE(melody) << melody.error().message;
  EXPECT_EQ(melody->n_fft, 512);
  EXPECT_EQ(melody->hop, 128);
  folder.write("preprocessor_config.json", R"({"n_fft":256,"hop_length":64,"num_chroma":12,"sampling_rate":1000})");
  melody = read();
  ASSERT_TRUE(melody) << melody.error().message;
  EXPECT_EQ(melody->n_fft, 256);
  EXPECT_EQ(melody->hop, 64);
  folder.write("preprocessor_config.json", R"({"num_chroma":12,"sampling_rate":32000})");
  melody = read();
  ASSERT_FALSE(melody);
  EXPECT_NE(melody.error().message.find("12 chroma bins at 32000 Hz do not belong to a model with 12 at 1000 Hz"),
            std::string::npos);
  EXPECT_TRUE(checkpoint.tensors.contains("audio_enc_to_dec_proj.bias"));

  const TemporaryFolder even;  // as many classes as the decoder is wide: not projected
  ModelConfig config = small_melody_config();
  config.melody.bins = config.decoder.width;
  SmallCheckpoint unprojected(config);
  EXPECT_FALSE(unprojected.tensors.contains("audio_enc_to_dec_proj.bias"));
  unprojected.config["num_chroma"] = config.melody.bins;
  unprojected.write(even.path());
  const auto model = HuggingFaceModel::open(even.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().melody.bins, config.melody.bins);
}

/// AudioGen's codec: 16 kHz, 50 frames a second.
TEST(HuggingFace, ReadsOtherRates) {
  const TemporaryFolder folder;
  ModelConfig config = small_config();
  config.codec.sample_rate = 16'000;
  config.codec.ratios = {8, 5, 4, 2};
  SmallCheckpoint(config).write(folder.path());
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().codec.frame_rate(), 50.0);
  EXPECT_EQ(model->config().decoder.max_frames, 1500);
}

TEST(HuggingFace, KnowsTheActivationsOfT5) {
  const struct {
    const char* name;
    bool gated;
    Activation activation;
  } cases[] = {{"relu", false, Activation::relu},
               {"gated-relu", true, Activation::relu},
               {"gelu", false, Activation::gelu_erf},
               {"gated-gelu", true, Activation::gelu_tanh},
               {"gelu_new", false, Activation::gelu_tanh}};
  for (const auto& expected : cases) {
    const TemporaryFolder folder;
    SmallCheckpoint checkpoint;
    checkpoint.config["text_encoder"]["feed_forward_proj"] = expected.name;
    if (expected.gated) {
      for (const std::string block :
           {"text_encoder.encoder.block.0.layer.1.DenseReluDense.", "text_encoder.encoder.block.1.layer.1.DenseReluDense."}) {
        checkpoint.tensors[block + "wi_0.weight"] = checkpoint.tensors[block + "wi_1.weight"] =
            checkpoint.tensors[block + "wi.weight"];
        checkpoint.tensors.erase(block + "wi.weight");
      }
    }
    checkpoint.write(folder.path());
    const auto model = HuggingFaceModel::open(folder.path());
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(model->config().text.gated, expected.gated) << expected.name;
    EXPECT_EQ(model->config().text.activation, expected.activation) << expected.name;
  }
}

struct Wrong {
  const char* kind;
  std::function<void(SmallCheckpoint&)> damage;
  const char* reason;
};

const Wrong wrong[] = {
    {"llama", [](SmallCheckpoint& c) { c.config["model_type"] = "llama"; }, "this is a 'llama' model, not a MusicGen one"},
    {"a melody model with another's decoder", [](SmallCheckpoint& c) { c.config["model_type"] = "musicgen_melody"; },
     "is a 'musicgen_decoder'; only 'musicgen_melody_decoder' is supported"},
    {"melody without chroma", [](SmallCheckpoint& c) { c = SmallCheckpoint(small_melody_config()), c.config["num_chroma"] = 0; },
     "num_chroma is 0"},
    {"melody of another chroma",
     [](SmallCheckpoint& c) { c = SmallCheckpoint(small_melody_config()), c.config["num_chroma"] = 24; },
     "'audio_enc_to_dec_proj.weight' has the shape [8, 12], but config.json demands [8, 24]"},
    {"cross-attention in a melody model",
     [](SmallCheckpoint& c) {
       const auto extra = c.tensors["decoder.model.decoder.layers.0.encoder_attn.k_proj.weight"];
       c = SmallCheckpoint(small_melody_config());
       c.tensors["decoder.model.decoder.layers.0.encoder_attn.k_proj.weight"] = extra;
     },
     "encoder_attn.k_proj.weight' is not part of the model"},
    {"no model_type", [](SmallCheckpoint& c) { c.config.erase("model_type"); }, "no model_type"},
    {"model_type is a number", [](SmallCheckpoint& c) { c.config["model_type"] = 3; }, "'model_type' is not a string"},
    {"no decoder", [](SmallCheckpoint& c) { c.config.erase("decoder"); }, "no part 'decoder'"},
    {"another text encoder", [](SmallCheckpoint& c) { c.config["text_encoder"]["model_type"] = "umt5"; },
     "is a 'umt5'; only 't5'"},
    {"another codec", [](SmallCheckpoint& c) { c.config["audio_encoder"]["model_type"] = "dac"; }, "is a 'dac'; only 'encodec'"},
    {"stereo with a mono model's codebooks",
     [](SmallCheckpoint& c) { c.config["decoder"]["num_codebooks"] = 3, c.config["decoder"]["audio_channels"] = 2; },
     "the codec has 1 codebooks, but the decoder 3 for 2 audio channels"},
    {"surround", [](SmallCheckpoint& c) { c.config["decoder"]["audio_channels"] = 0; }, "0 audio channels"},
    {"stereo codec", [](SmallCheckpoint& c) { c.config["audio_encoder"]["audio_channels"] = 2; }, "2 audio channels"},
    {"group norm", [](SmallCheckpoint& c) { c.config["audio_encoder"]["norm_type"] = "time_group_norm"; }, "time_group_norm"},
    {"normalised audio", [](SmallCheckpoint& c) { c.config["audio_encoder"]["normalize"] = true; }, "normalises"},
    {"chunked audio", [](SmallCheckpoint& c) { c.config["audio_encoder"]["chunk_length_s"] = 1.0; }, "chunks"},
    {"unknown padding", [](SmallCheckpoint& c) { c.config["audio_encoder"]["pad_mode"] = "circular"; }, "'circular'"},
    {"unknown activation", [](SmallCheckpoint& c) { c.config["decoder"]["activation_function"] = "silu"; }, "'silu'"},
    {"cross-attention width", [](SmallCheckpoint& c) { c.config["decoder"]["cross_attention_hidden_size"] = 6; },
     "cross_attention_hidden_size"},
    {"codebook width", [](SmallCheckpoint& c) { c.config["audio_encoder"]["codebook_dim"] = 2; }, "codebook_dim 2"},
    {"a word for a number", [](SmallCheckpoint& c) { c.config["decoder"]["hidden_size"] = "8"; },
     "'hidden_size' is not a whole number"},
    {"a fraction", [](SmallCheckpoint& c) { c.config["decoder"]["ffn_dim"] = 12.5; }, "'ffn_dim' is not a whole number"},
    {"a number too large", [](SmallCheckpoint& c) { c.config["decoder"]["ffn_dim"] = 1LL << 40; },
     "'ffn_dim' is not a whole number"},
    {"out of bounds", [](SmallCheckpoint& c) { c.config["decoder"]["num_hidden_layers"] = 100000; },
     "musicgen.block_count is 100000"},
    {"another special id", [](SmallCheckpoint& c) { c.config["decoder"]["pad_token_id"] = 2048; }, "musicgen.special_id is 2048"},
    {"codec of another model", [](SmallCheckpoint& c) { c.config["audio_encoder"]["codebook_size"] = 8; },
     "parts of different models"},
    {"tokenizer of another model", [](SmallCheckpoint& c) { c.spiece = spiece_of(13); }, "13 pieces"},
    {"tokenizer is something else", [](SmallCheckpoint& c) { c.spiece = "hello"; }, "not a SentencePiece model"},
    {"text encoder of another model", [](SmallCheckpoint& c) { c.config["text_encoder"]["d_ff"] = 9; },
     "has the shape [8, 6], but config.json demands [9, 6]"},
    {"fewer layers than tensors", [](SmallCheckpoint& c) { c.config["decoder"]["num_hidden_layers"] = 1; },
     "tensor 'decoder.model.decoder.layers.1.encoder_attn.k_proj.weight' is not part of the model"},
    {"more layers than tensors", [](SmallCheckpoint& c) { c.config["text_encoder"]["num_layers"] = 3; },
     "is missing, which config.json demands"},
    {"a missing tensor", [](SmallCheckpoint& c) { c.tensors.erase("decoder.lm_heads.1.weight"); },
     "'decoder.lm_heads.1.weight' is missing"},
    {"a missing gain", [](SmallCheckpoint& c) { c.tensors.erase("audio_encoder.decoder.layers.0.conv.weight_g"); },
     "'audio_encoder.decoder.layers.0.conv.weight_g' is missing"},
    {"a gain of another shape", [](SmallCheckpoint& c) { c.tensors["audio_encoder.decoder.layers.0.conv.weight_g"].shape = {8}; },
     "'audio_encoder.decoder.layers.0.conv.weight_g' has the shape [8]"},
    {"a shortcut that the config denies",
     [](SmallCheckpoint& c) {
       c.tensors["audio_encoder.decoder.layers.4.shortcut.conv.bias"] = {{1}, {0.0F}};
     },
     "'audio_encoder.decoder.layers.4.shortcut.conv.bias' is not part of the model"},
    {"weights as integers", [](SmallCheckpoint& c) { c.tensors["enc_to_dec_proj.bias"].dtype = "I64"; }, "has the type I64"},
};

TEST(HuggingFace, RefusesInOneSentenceByKind) {
  for (const Wrong& example : wrong) {
    SCOPED_TRACE(example.kind);
    const TemporaryFolder folder;
    SmallCheckpoint checkpoint;
    example.damage(checkpoint);
    checkpoint.write(folder.path());
    const auto model = HuggingFaceModel::open(folder.path());
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

TEST(HuggingFace, SaysWhatAFolderLacks) {
  const TemporaryFolder folder;
  const auto reason = [&] {
    const auto model = HuggingFaceModel::open(folder.path("m"));
    return model ? std::string("accepted") : model.error().message;
  };
  EXPECT_NE(reason().find("does not exist"), std::string::npos);
  folder.write("m", "a file");
  EXPECT_NE(reason().find("is a file"), std::string::npos);
  std::filesystem::remove(folder.path("m"));
  std::filesystem::create_directory(folder.path("m"));
  EXPECT_NE(reason().find("no config.json"), std::string::npos);
  SmallCheckpoint().write(folder.path("m"));
  std::filesystem::remove(folder.path("m/spiece.model"));
  EXPECT_NE(reason().find("no spiece.model and no tokenizer.json"), std::string::npos);
  folder.write("m/tokenizer.json", "{}");
  EXPECT_NE(reason().find("tokenizer.json: the vocabulary 'null' is not one of T5's"), std::string::npos);
  folder.write("m/spiece.model", SmallCheckpoint().spiece);
  std::filesystem::remove(folder.path("m/model.safetensors"));
  EXPECT_NE(reason().find("no model.safetensors"), std::string::npos);
  folder.write("m/pytorch_model.bin", "");
  EXPECT_NE(reason().find("pytorch_model.bin"), std::string::npos);
  folder.write("m/config.json", std::string(1000, '['));
  EXPECT_NE(reason().find("nested too deeply"), std::string::npos);
  folder.write("m/config.json", "[]");
  EXPECT_NE(reason().find("not a JSON object"), std::string::npos);
}

std::vector<float> values_of(const HuggingFaceModel& model, std::string_view name) {
  std::vector<float> values;
  for (const TensorSpec& spec : musicgen_layout(model.config())) {
    if (spec.name != name) continue;
    const Status status = model.stream(spec, [&](std::span<const float> part) -> Status {
      values.insert(values.end(), part.begin(), part.end());
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
  }
  return values;
}

TEST(HuggingFace, FoldsAllFormsOfWeightNormToTheSame) {
  const std::string conv = "audio_encoder.encoder.layers.3.conv";
  const TemporaryFolder folder;
  SmallCheckpoint checkpoint;
  checkpoint.write(folder.path("published"));
  const Floats v = checkpoint.tensors[conv + ".weight_v"];
  const Floats g = checkpoint.tensors[conv + ".weight_g"];
  checkpoint.tensors.erase(conv + ".weight_v");
  checkpoint.tensors.erase(conv + ".weight_g");
  SmallCheckpoint saved = checkpoint;
  saved.tensors[conv + ".parametrizations.weight.original1"] = v;
  saved.tensors[conv + ".parametrizations.weight.original0"] = g;
  saved.write(folder.path("saved"));
  Floats folded = v;
  const std::size_t length = v.values.size() / g.values.size();
  for (std::size_t i = 0; i < v.values.size(); ++i) {
    double squares = 0.0;
    for (std::size_t j = 0; j < length; ++j) squares += std::pow(static_cast<double>(v.values[i / length * length + j]), 2);
    folded.values[i] = static_cast<float>(v.values[i] * (static_cast<double>(g.values[i / length]) / std::sqrt(squares)));
  }
  SmallCheckpoint plain = checkpoint;
  plain.tensors[conv + ".weight"] = folded;
  plain.write(folder.path("plain"));
  for (const char* form : {"published", "saved", "plain"}) {
    const auto model = HuggingFaceModel::open(folder.path(form));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(values_of(*model, "codec.encoder.down.0.conv.weight"), folded.values) << form;
  }
  // Two forms at once: which one is meant?
  saved.tensors[conv + ".weight"] = folded;
  saved.write(folder.path("both"));
  EXPECT_FALSE(HuggingFaceModel::open(folder.path("both")));
}

TEST(HuggingFace, PassesOverLeftovers) {
  const TemporaryFolder folder;
  SmallCheckpoint checkpoint;
  checkpoint.tensors["decoder.model.decoder.embed_positions.weights"] = {{1}, {0.0F}};
  checkpoint.tensors["text_encoder.encoder.embed_tokens.weight"] = checkpoint.tensors["text_encoder.shared.weight"];
  checkpoint.tensors["audio_encoder.quantizer.layers.0.codebook.inited"] = {{1}, {1.0F}};
  checkpoint.tensors["audio_encoder.quantizer.layers.7.codebook.embed"] = {{4, 3}, std::vector<float>(12, 0.0F)};
  checkpoint.write(folder.path());
  const auto model = HuggingFaceModel::open(folder.path());
  EXPECT_TRUE(model) << model.error().message;
}

TEST(HuggingFace, TakesTheEmbeddingFromEitherName) {
  const TemporaryFolder folder;
  SmallCheckpoint checkpoint;
  const auto embedding = checkpoint.tensors.extract("text_encoder.shared.weight").mapped();
  checkpoint.tensors["text_encoder.encoder.embed_tokens.weight"] = embedding;
  checkpoint.write(folder.path());
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(values_of(*model, "text.embed.weight"), embedding.values);
}

TEST(HuggingFace, ReadsShards) {
  const TemporaryFolder folder;
  const SmallCheckpoint checkpoint;
  checkpoint.write(folder.path());
  std::filesystem::remove(folder.path("model.safetensors"));
  Tensors first, second;
  nlohmann::json map;
  for (const auto& [name, tensor] : checkpoint.tensors) {
    const bool odd = map.size() % 2 == 1;  // parts even the two halves of a weight norm
    (odd ? second : first)[name] = tensor;
    map[name] = odd ? "model-00002-of-00002.safetensors" : "model-00001-of-00002.safetensors";
  }
  folder.write("model-00001-of-00002.safetensors", safetensors_of(first));
  folder.write("model.safetensors.index.json", nlohmann::json{{"weight_map", map}}.dump());
  EXPECT_FALSE(HuggingFaceModel::open(folder.path()));  // the second is not there
  folder.write("model-00002-of-00002.safetensors", safetensors_of(second));
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(values_of(*model, "decoder.head.1.weight"), checkpoint.tensors.at("decoder.lm_heads.1.weight").values);

  folder.write("model.safetensors.index.json", R"({"weight_map":{"a":"../model-00001-of-00002.safetensors"}})");
  const auto outside = HuggingFaceModel::open(folder.path());
  ASSERT_FALSE(outside);
  EXPECT_NE(outside.error().message.find("not the name of a safetensors file"), std::string::npos);
  folder.write("model.safetensors.index.json", R"({"weight_map":{}})");
  EXPECT_FALSE(HuggingFaceModel::open(folder.path()));
}

}  // namespace
}  // namespace continuo::weights
