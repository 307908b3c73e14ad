// Block types from a checkpoint to logits, against transformers with the weights that the blocks stand for. The decoder is 256
// wide, so that every type fits its rows; its weights are a formula (tests/reference/wide_cases.py).
//
// What may differ from transformers is the activations, which our products with blocks quantise to 8 bits per row and 32 values
// (to 16 where avx2 meets q8_0). The goldens hold how far the logits move when transformers' activations are quantised like that,
// about 1 % of their RMS, and the logits that then come out. Ours must not lie further from the float ones than that, give or
// take what two patterns of rounding differ by. With 8 bits the pattern is even the same: the distance to the other logits is
// float rounding, 3e-7; a quarter of the way is allowed, because one value that falls to the other side of a half changes those
// after it. With 16 bits the steps are so small that float rounding makes the pattern another one.
#include <fstream>

#include "golden_support.h"
#include "music/decoder.h"
#include "text/t5_encoder.h"
#include "text/tokenizer.h"

namespace continuo::golden {
namespace {

const std::string folder = goldens + "wide/";

/// The formula of golden.json's notes. Products are exact in double precision and the sum is rounded once, so that it does not
/// matter whether a compiler fuses them.
std::vector<float> weights_of(const json& tensor) {
  const auto name = tensor["name"].get<std::string>();
  std::uint64_t seed = 0xCBF29CE484222325;
  for (const char c : name) seed = (seed ^ static_cast<unsigned char>(c)) * 0x100000001B3;
  std::size_t count = 1;
  for (const json& size : tensor["shape"]) count *= size.get<std::size_t>();
  const double scale = tensor["scale"], shift = tensor["shift"];
  std::vector<float> values;
  for (std::uint64_t i = 1; i <= count; ++i) {
    std::uint64_t z = seed + i * 0x9E3779B97F4A7C15;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB;
    z ^= z >> 31;
    const auto total = static_cast<std::int64_t>((z & 0xFFFF) + (z >> 16 & 0xFFFF) + (z >> 32 & 0xFFFF) + (z >> 48)) - 131070;
    values.push_back(static_cast<float>(shift + scale * static_cast<double>(total)));
  }
  return values;
}

/// A Hugging Face folder with those weights.
std::string write_checkpoint(const json& golden) {
  const std::string path = scratch_folder().folder + "/wide";
  std::filesystem::copy(folder + "model", path, std::filesystem::copy_options::recursive);
  json header;
  std::string data;
  for (const json& tensor : golden["tensors"]) {
    const std::vector<float> values = weights_of(tensor);
    const std::size_t begin = data.size();
    data.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    header[tensor["name"].get<std::string>()] = {
        {"dtype", "F32"}, {"shape", tensor["shape"]}, {"data_offsets", {begin, data.size()}}};
  }
  const std::string text = header.dump();
  const std::uint64_t length = text.size();
  std::ofstream file(path + "/model.safetensors", std::ios::binary);
  file.write(reinterpret_cast<const char*>(&length), sizeof(length));
  file << text << data;
  EXPECT_TRUE(file.flush());
  return path;
}

const json& golden_of_wide() {
  static const json golden = json::parse(*read_text_file(folder + "golden.json", 1 << 20));
  return golden;
}

/// The model file of a type; each is made once in a process.
std::string converted_to(DType type) {
  static const std::string checkpoint = write_checkpoint(golden_of_wide());
  const std::string path = checkpoint + "-" + std::string(name_of(type)) + ".gguf";
  if (!std::filesystem::exists(path)) {
    weights::ConvertOptions options;
    options.type = type;
    const Status status = weights::convert(checkpoint, path, options);
    EXPECT_TRUE(status) << status.error().message;
  }
  return path;
}

std::vector<float> floats(const json& name) {
  return std::get<std::vector<float>>(audio::read_npy(folder + name.get<std::string>())->values);
}

/// RMS of the difference over RMS of what is wanted, or infinite.
double rms_error(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return INFINITY;
  double difference = 0.0, square = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    difference += (static_cast<double>(got[i]) - want[i]) * (static_cast<double>(got[i]) - want[i]);
    square += static_cast<double>(want[i]) * want[i];
  }
  return std::isfinite(difference) ? std::sqrt(difference / square) : INFINITY;
}

class Wide : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override {
    auto source = weights::open_model(converted_to(std::get<1>(GetParam())));
    ASSERT_TRUE(source) << source.error().message;
    source_ = std::move(*source);
    for (const json& row : golden_of_wide()["logits"]) {
      if (row["type"] == name_of(std::get<1>(GetParam()))) row_ = row;
    }
    ASSERT_TRUE(row_.is_object());
  }

  /// Teacher forcing, as transformers does it: [codebooks, steps, entries].
  std::vector<float> logits() const {
    const auto tokenizer = std::move(*text::Tokenizer::create(source_->config().tokenizer, source_->config().text.vocabulary));
    const auto executor = std::move(*compute::make_cpu_executor({2, std::get<0>(GetParam())}));
    const auto encoder = std::move(*text::T5Encoder::load(*source_, *executor));
    const auto decoder = std::move(*music::MusicDecoder::load(*source_, *executor));
    executor->begin_pass();
    const auto cross =
        decoder->condition(decoder->project_text(encoder->encode(*tokenizer->encode(row_["text"]))), compute::KvType::f32);
    const auto input =
        std::get<std::vector<std::int64_t>>(audio::read_npy(folder + row_["input_ids"].get<std::string>())->values);
    const auto codebooks = static_cast<std::size_t>(source_->config().decoder.codebooks),
               entries = static_cast<std::size_t>(source_->config().decoder.codebook_size), steps = input.size() / codebooks;
    const auto pool = std::move(*decoder->make_kv_pool(compute::KvType::f32, 4));
    auto sequence = std::move(*pool->reserve(static_cast<int>(steps)));
    std::vector<float> all(input.size() * entries);
    for (std::size_t step = 0; step < steps; ++step) {
      std::vector<std::int32_t> ids;
      for (std::size_t k = 0; k < codebooks; ++k) ids.push_back(static_cast<std::int32_t>(input[k * steps + step]));
      const compute::Row row{&sequence, static_cast<int>(step), cross.get()};
      executor->begin_pass();
      std::vector<float> own(codebooks * entries);
      executor->read(decoder->step(std::span(&row, 1), ids, *pool), own);
      for (std::size_t k = 0; k < codebooks; ++k) {
        std::copy_n(own.begin() + static_cast<std::ptrdiff_t>(k * entries), entries,
                    all.begin() + static_cast<std::ptrdiff_t>((k * steps + step) * entries));
      }
    }
    return all;
  }

  /// How many steps from the first on agree to float rounding.
  std::size_t equal_steps(std::span<const float> got, std::span<const float> want) const {
    const auto codebooks = static_cast<std::size_t>(source_->config().decoder.codebooks),
               entries = static_cast<std::size_t>(source_->config().decoder.codebook_size),
               steps = got.size() / codebooks / entries;
    if (got.size() != want.size()) return 0;
    for (std::size_t step = 0; step < steps; ++step) {
      for (std::size_t k = 0; k < codebooks; ++k) {
        const std::size_t at = (k * steps + step) * entries;
        if (!(rms_error(got.subspan(at, entries), want.subspan(at, entries)) < 5e-6)) return step;
      }
    }
    return steps;
  }

  std::unique_ptr<weights::TensorSource> source_;
  json row_;
};

TEST_P(Wide, LogitsByTeacherForcing) {
  const std::vector<float> got = logits(), exact = floats(row_["logits"]);
  if (std::get<1>(GetParam()) == DType::f32) {
    EXPECT_LT(relative_error(got, exact), 5e-5);
    return;
  }
  const std::string bits = std::get<0>(GetParam()) == "avx2" ? "16" : "8";
  const double activations = row_["error_" + bits];
  EXPECT_LT(rms_error(got, exact), 1.25 * activations);
  // With the same activations quantised alike the logits are the same, until a value in the middle between two steps is rounded
  // the other way (another order of sums in a norm is enough): what follows hears it, and is only bound by the line above.
  if (bits == "8") {
    EXPECT_GE(equal_steps(got, floats(row_["logits_8"])), 3U);
  }
}

TEST_P(Wide, TensorsHaveTheTypesThatTheDocumentsSay) {
  if (std::get<1>(GetParam()) == DType::f32) return;
  // The goldens name transformers' tensors of the first layer: one of each kind, in our words.
  const std::map<std::string, std::string> names = {
      {"text_encoder.encoder.block.0.layer.0.SelfAttention.q.weight", "text.blk.0.attn_q.weight"},
      {"text_encoder.encoder.block.0.layer.1.DenseReluDense.wo.weight", "text.blk.0.ffn_down.weight"},
      {"decoder.model.decoder.layers.0.self_attn.v_proj.weight", "decoder.blk.0.self_v.weight"},
      {"decoder.model.decoder.layers.0.encoder_attn.k_proj.weight", "decoder.blk.0.cross_k.weight"},
      {"decoder.model.decoder.layers.0.fc2.weight", "decoder.blk.0.ffn_down.weight"},
      {"decoder.lm_heads.3.weight", "decoder.head.3.weight"}};
  std::size_t seen = 0;
  for (const auto& [type, tensors] : row_["types"].items()) {
    for (const json& tensor : tensors) {
      const auto name = names.find(tensor);
      if (name == names.end()) continue;
      ++seen;
      EXPECT_EQ(name_of(source_->tensor(name->second).type), type) << name->second;
    }
  }
  EXPECT_EQ(seen, names.size());
}

INSTANTIATE_TEST_SUITE_P(Types, Wide,
                         ::testing::Combine(::testing::ValuesIn(isas()),
                                            ::testing::Values(DType::f32, DType::q8_0, DType::q4_0, DType::q4_k)),
                         [](const auto& each) {
                           return std::get<0>(each.param) + "_" + std::string(name_of(std::get<1>(each.param)));
                         });

}  // namespace
}  // namespace continuo::golden
