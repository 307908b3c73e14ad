#include <gtest/gtest.h>

#include <fcntl.h>
#include <unistd.h>

#include <functional>
#include <numeric>
#include <set>

#include "base/file.h"
#include "weights/config_keys.h"
#include "weights/fixtures_test.h"
#include "weights/musicgen_layout.h"
#include "weights/tensor_source.h"

namespace continuo::weights {
namespace {

using namespace testing;

/// Writes a model file whose config, keys and tensors somebody may have changed; the data is zeros.
struct ModelFile {
  ModelConfig config = small_config();
  std::function<void(GgufWriter&)> keys = [](GgufWriter&) {};
  std::function<void(std::vector<TensorSpec>&)> tensors = [](std::vector<TensorSpec>&) {};
  std::function<DType(const TensorSpec&)> type = [](const TensorSpec&) { return DType::f32; };
  ModelConfig tensors_of = config;

  ModelFile() = default;
  explicit ModelFile(const ModelConfig& both) : config(both), tensors_of(both) {}

  std::string write(const std::string& path) const {
    GgufWriter writer;
    write_config(config, writer);
    keys(writer);
    std::vector<TensorSpec> layout = musicgen_layout(tensors_of);
    tensors(layout);
    auto file = AtomicFile::open(path);
    EXPECT_TRUE(file);
    for (const TensorSpec& spec : layout) EXPECT_TRUE(writer.add_tensor(spec.name, type(spec), spec.shape)) << spec.name;
    EXPECT_TRUE(writer.begin(*file));
    for (const TensorSpec& spec : layout) {
      const std::vector<std::byte> zeros(static_cast<std::size_t>(*tensor_bytes(type(spec), spec.shape)));
      EXPECT_TRUE(writer.write_data(*file, zeros));
    }
    EXPECT_TRUE(writer.finish());
    EXPECT_TRUE(file->commit());
    return path;
  }
};

TensorSpec& named(std::vector<TensorSpec>& specs, std::string_view name) {
  for (TensorSpec& spec : specs) {
    if (spec.name == name) return spec;
  }
  throw std::runtime_error("no such tensor");
}

TEST(OpenModel, ReturnsConfigAndTensors) {
  const TemporaryFolder folder;
  ModelFile file;
  file.config.defaults.top_p = 0.25F;
  file.config.codec.causal = true;
  file.config.decoder.activation = Activation::gelu_tanh;
  const auto model = open_model(file.write(folder.path("m.gguf")));
  ASSERT_TRUE(model) << model.error().message;
  const ModelConfig& config = (*model)->config();
  EXPECT_EQ(config.name, "small");
  EXPECT_EQ(config.license, "MIT");
  EXPECT_EQ(config.decoder.delays, (std::vector<int>{0, 1}));
  EXPECT_EQ(config.codec.ratios, (std::vector<int>{3, 2}));
  EXPECT_EQ(config.tokenizer.model_proto, file.config.tokenizer.model_proto);
  EXPECT_EQ(config.defaults.top_p, 0.25F);
  EXPECT_EQ(config.decoder.activation, Activation::gelu_tanh);
  EXPECT_EQ(config.text.activation, Activation::relu);
  EXPECT_TRUE(config.codec.causal);
  EXPECT_FALSE(config.codec.conv_shortcut);
  EXPECT_EQ(config.codec.pad_mode, PadMode::reflect);
  EXPECT_FALSE((*model)->has("decoder.head.2.weight"));
  ASSERT_TRUE((*model)->has("codec.decoder.out.weight"));
  const TensorView out = (*model)->tensor("codec.decoder.out.weight");
  EXPECT_EQ(out.shape, (Shape{1, 2, 7}));  // though ggml writes two dimensions
  EXPECT_EQ(out.data.size(), 14U * 4U);
  (*model)->release_pages();
  EXPECT_EQ((*model)->tensor("text.embed.weight").data[0], std::byte{0});
}

TEST(OpenModel, AcceptsHalfPrecisionMatrices) {
  const TemporaryFolder folder;
  ModelFile file;
  file.type = [](const TensorSpec& spec) { return spec.always_f32() ? DType::f32 : DType::f16; };
  const auto model = open_model(file.write(folder.path("m.gguf")));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->tensor("decoder.head.0.weight").type, DType::f16);
  EXPECT_EQ((*model)->tensor("decoder.output_norm.bias").type, DType::f32);
}

TEST(OpenModel, AcceptsAnyMixOfTypes) {
  const TemporaryFolder folder;
  ModelFile file(small_wide_config());
  constexpr DType types[] = {DType::f32, DType::f16, DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k};
  // Each tensor the next type that can hold its rows, the codec's and the tables included.
  const auto choose = [&](const TensorSpec& spec) {
    std::size_t i = std::accumulate(spec.name.begin(), spec.name.end(), std::size_t{0});
    while (!tensor_bytes(types[i % 6], spec.shape)) ++i;
    return spec.always_f32() ? DType::f32 : types[i % 6];
  };
  file.type = choose;
  const auto model = open_model(file.write(folder.path("m.gguf")));
  ASSERT_TRUE(model) << model.error().message;
  std::set<DType> seen;
  for (const TensorSpec& spec : musicgen_layout(file.config)) {
    const TensorView view = (*model)->tensor(spec.name);
    EXPECT_EQ(view.type, choose(spec)) << spec.name;
    EXPECT_EQ(static_cast<std::int64_t>(view.data.size()), tensor_bytes(view.type, spec.shape)) << spec.name;
    seen.insert(view.type);
  }
  EXPECT_EQ(seen.size(), 6U);
}

TEST(OpenModel, ReadsStereoAndMelodyModels) {
  const TemporaryFolder folder;
  const auto stereo = open_model(ModelFile(small_stereo_config()).write(folder.path("s.gguf")));
  ASSERT_TRUE(stereo) << stereo.error().message;
  EXPECT_EQ((*stereo)->config().decoder.audio_channels, 2);
  EXPECT_TRUE((*stereo)->has("decoder.head.3.weight"));
  EXPECT_FALSE((*stereo)->has("codec.quantizer.2.codebook"));
  EXPECT_FALSE((*stereo)->config().is_melody());
  const auto melody = open_model(ModelFile(small_melody_config()).write(folder.path("m.gguf")));
  ASSERT_TRUE(melody) << melody.error().message;
  EXPECT_EQ((*melody)->config().melody.bins, 12);
  EXPECT_EQ((*melody)->config().melody.length, 5);
  EXPECT_EQ((*melody)->config().melody.n_fft, 64);
  EXPECT_EQ((*melody)->config().melody.hop, 16);
  EXPECT_EQ((*melody)->tensor("decoder.chroma_proj.weight").shape, (Shape{8, 12}));
  EXPECT_FALSE((*melody)->has("decoder.blk.0.cross_q.weight"));
  // As many classes as the decoder is wide: projected or not, as the key says.
  ModelConfig even = small_melody_config();
  even.melody.bins = even.decoder.width;
  const auto plain = open_model(ModelFile(even).write(folder.path("e.gguf")));
  ASSERT_TRUE(plain) << plain.error().message;
  EXPECT_FALSE((*plain)->has("decoder.chroma_proj.weight"));
  even.always_projects = true;
  const auto projecting = open_model(ModelFile(even).write(folder.path("p.gguf")));
  ASSERT_TRUE(projecting) << projecting.error().message;
  EXPECT_TRUE((*projecting)->config().always_projects);
  EXPECT_EQ((*projecting)->tensor("decoder.chroma_proj.weight").shape, (Shape{8, 8}));
  // The word may also stand where it is the default.
  ModelFile spelt;
  spelt.keys = [](GgufWriter& w) { w.set("musicgen.conditioning", std::string("cross")); };
  EXPECT_TRUE(open_model(spelt.write(folder.path("c.gguf"))));
}

struct Mismatch {
  const char* kind;
  std::function<void(ModelFile&)> damage;
  const char* reason;
};

const Mismatch mismatches[] = {
    {"another family", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("general.architecture", std::string("llama")); }; },
     "is a 'llama' model, not a MusicGen one"},
    {"architecture of another type", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("general.architecture", 1U); }; },
     "does not say what kind of model"},
    {"a newer format", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("continuo.format_version", 2U); }; },
     "format version 2"},
    {"a key of another type", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.block_count", 2.0F); }; },
     "key 'musicgen.block_count' has type f32, not u32"},
    {"an array of another type", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set_bytes("musicgen.delays", "\1\1"); }; },
     "is an array of u8, not of i32"},
    {"a scalar for an array", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("codec.ratios", 2U); }; },
     "has type u32, not array"},
    {"an array too long", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("codec.ratios", std::vector<int>(1000, 1)); }; },
     "has 1000 elements"},
    {"an unknown word", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("text.activation", std::string("swish")); }; },
     "'swish', which this version does not know"},
    {"an unknown key of ours", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.rope", true); }; },
     "key 'musicgen.rope' is not one that this version knows"},
    {"a number out of bounds", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.block_count", 0xFFFFFFFFU); }; },
     "musicgen.block_count is 2147483647"},
    {"layers that are not there", [](ModelFile& f) { f.config.decoder.layers = 3; },
     "tensor 'decoder.blk.2.self_norm.weight' is missing"},
    {"layers too many", [](ModelFile& f) { f.config.text.layers = 1; }, "does not belong to this model"},
    {"a wider decoder", [](ModelFile& f) { f.config.decoder.width = 10; }, "but the keys of the file demand"},
    {"a tensor transposed",
     [](ModelFile& f) { f.tensors = [](auto& t) {
                          named(t, "decoder.blk.0.ffn_up.weight").shape = {8, 12};
                        }; },
     "tensor 'decoder.blk.0.ffn_up.weight' has the shape [8, 12], but the keys of the file demand [12, 8]"},
    {"a tensor of another name",
     [](ModelFile& f) { f.tensors = [](auto& t) { named(t, "text.output_norm.weight").name = "extra"; }; },
     "tensor 'text.output_norm.weight' is missing"},
    {"a tensor too many", [](ModelFile& f) { f.tensors = [](auto& t) {
                                               t.push_back({"extra", {1}, TensorKind::gain, 1});
                                             }; },
     "tensor 'extra' does not belong to this model"},
    {"a half-precision norm",
     [](ModelFile& f) {
       f.type = [](const TensorSpec& s) { return s.name == "text.output_norm.weight" ? DType::f16 : DType::f32; };
     },
     "has the type f16, but must be f32"},
    {"a norm in blocks",
     [](ModelFile& f) {
       f = ModelFile(small_wide_config());
       f.type = [](const TensorSpec& s) { return s.name == "text.output_norm.weight" ? DType::q8_0 : DType::f32; };
     },
     "has the type q8_0, but must be f32"},
    {"cross-attention in a melody model", [](ModelFile& f) { f.config = small_melody_config(); },
     "'decoder.chroma_proj.weight' is missing"},
    {"chroma in another model", [](ModelFile& f) { f.tensors_of = small_melody_config(); },
     "'decoder.blk.0.cross_norm.weight' is missing"},
    {"a projection of another kind",
     [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.projection", std::string("never")); }; },
     "key 'musicgen.projection' is 'never', which this version does not know"},
    {"chroma keys in another model", [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.chroma_bins", 12U); }; },
     "key 'musicgen.chroma_bins' is not one that this version knows"},
    {"a melody model without chroma keys",
     [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.conditioning", std::string("prefix")); }; },
     "key 'musicgen.chroma_bins' is missing"},
    {"a melody model without bins",
     [](ModelFile& f) {
       f.config = small_melody_config();
       f.keys = [](GgufWriter& w) { w.set("musicgen.chroma_bins", 0U); };
     },
     "musicgen.chroma_bins is 0"},
    {"another conditioning",
     [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.conditioning", std::string("style")); }; },
     "key 'musicgen.conditioning' is 'style', which this version does not know"},
    {"half of the channels' codebooks",
     [](ModelFile& f) { f.keys = [](GgufWriter& w) { w.set("musicgen.audio_channels", 2U); }; }, "parts of different models"},
};

TEST(OpenModel, RefusesWhatDoesNotMatchByKind) {
  const TemporaryFolder folder;
  for (const Mismatch& example : mismatches) {
    SCOPED_TRACE(example.kind);
    ModelFile file;
    example.damage(file);
    const std::string path = file.write(folder.path("m.gguf"));
    const auto model = open_model(path);
    if (model) {
      ADD_FAILURE() << "was accepted";
      continue;
    }
    const std::string& message = model.error().message;
    EXPECT_NE(message.find(example.reason), std::string::npos) << message;
    EXPECT_TRUE(message.starts_with(path)) << message;
  }
}

/// The type of a tensor, changed in the header: rows that are no whole blocks, data too short, and types that are none of ours.
TEST(OpenModel, RefusesMalformedBlocks) {
  const TemporaryFolder folder;
  const std::string bytes = read_file(ModelFile(small_wide_config()).write(folder.path("m.gguf")));
  const struct {
    const char* tensor;
    std::uint32_t type;
    const char* reason;
  } cases[] = {
      {"text.blk.0.ffn_down.weight", 12, "rows of 96, not a multiple of the 256 elements in a block of its type q4_k"},
      {"codec.quantizer.0.codebook", 8, "rows of 3, not a multiple of the 32 elements in a block of its type q8_0"},
      {"decoder.blk.0.ffn_up.weight", 6, "has the type q5_0; f32, f16, bf16, q8_0, q4_0 and q4_k are supported"},
      {"decoder.blk.0.ffn_up.weight", 99, "has the unknown type 99"},
  };
  for (const auto& example : cases) {
    SCOPED_TRACE(example.reason);
    std::string damaged = bytes;
    const std::size_t dims = damaged.find(gguf_string(example.tensor)) + 8 + std::string_view(example.tensor).size();
    const std::size_t at = dims + 4 + 2 * sizeof(std::int64_t);  // after the rank and two dimensions
    damaged.replace(at, 4, raw(example.type));
    const auto model = open_model(folder.write("n.gguf", damaged));
    ASSERT_FALSE(model);
    EXPECT_NE(model.error().message.find(example.reason), std::string::npos) << model.error().message;
  }
}

TEST(OpenModel, NamesAMissingKey) {
  const TemporaryFolder folder;
  const std::string path = ModelFile().write(folder.path("m.gguf"));
  std::string bytes = read_file(path);
  bytes.replace(bytes.find("codec.compress"), 5, "other");  // not a prefix of ours, so that only the loss is noticed
  const auto model = open_model(folder.write("n.gguf", bytes));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("key 'codec.compress' is missing"), std::string::npos) << model.error().message;
}

TEST(OpenModel, RefusesOtherFilesInItsPlace) {
  const TemporaryFolder folder;
  EXPECT_FALSE(open_model(folder.path()));
  EXPECT_FALSE(open_model(folder.write("a.gguf", "")));
  EXPECT_FALSE(open_model(folder.write("b.gguf", safetensors_of(SmallCheckpoint().tensors))));
  const std::string whole = read_file(ModelFile().write(folder.path("m.gguf")));
  for (const std::size_t length : {whole.size() - 100, whole.size() / 2, std::size_t{100}}) {
    EXPECT_FALSE(open_model(folder.write("cut.gguf", whole.substr(0, length)))) << length;
  }
}

/// Every byte of the header flipped in turn: the file is refused or still a model, but nothing breaks (run with sanitizers).
TEST(OpenModel, SurvivesAnyDamagedByte) {
  const TemporaryFolder folder;
  const std::string path = ModelFile().write(folder.path("m.gguf"));
  const std::string bytes = read_file(path);
  const std::size_t header = bytes.find("codec.encoder.out.bias") + 50;  // the last tensor's name, rank, size, type and offset
  const int descriptor = ::open(path.c_str(), O_WRONLY);
  ASSERT_GE(descriptor, 0);
  int accepted = 0;
  for (std::size_t i = 0; i < header; ++i) {
    for (const unsigned mask : {0x01U, 0x80U}) {
      const char damaged = static_cast<char>(static_cast<unsigned char>(bytes[i]) ^ mask);
      ASSERT_EQ(::pwrite(descriptor, &damaged, 1, static_cast<off_t>(i)), 1);
      if (open_model(path)) ++accepted;
    }
    ASSERT_EQ(::pwrite(descriptor, &bytes[i], 1, static_cast<off_t>(i)), 1);
  }
  ::close(descriptor);
  EXPECT_TRUE(open_model(path));
  EXPECT_LT(accepted, static_cast<int>(header) / 2);  // names for people, defaults, pieces of the tokenizer
}

}  // namespace
}  // namespace continuo::weights
