#include "weights/convert.h"

#include <gtest/gtest.h>

#include <ggml.h>

#include <bit>
#include <cstring>
#include <limits>

#include "base/half.h"
#include "weights/fixtures_test.h"
#include "weights/huggingface_names.h"
#include "weights/musicgen_layout.h"
#include "weights/safetensors.h"
#include "weights/tensor_source.h"
#include "weights/tensor_types.h"
#include "weights/weight_norm.h"

namespace continuo::weights {
namespace {

using namespace testing;

/// The tensor as the checkpoint has it, by way of the safetensors reader alone.
std::vector<float> expected_values(const SafetensorsFile& file, const SourceTensor& source) {
  if (!source.weight_norm) return *file.read(source.name);
  const bool published = file.entries().contains(source.name + ".weight_v");
  auto v = *file.read(source.name + (published ? ".weight_v" : ".parametrizations.weight.original1"));
  const auto g = *file.read(source.name + (published ? ".weight_g" : ".parametrizations.weight.original0"));
  fold_weight_norm(v, g);
  return v;
}

/// Converts a folder, opens the result and compares every tensor bit for bit.
void expect_round_trip(const std::string& checkpoint, DType type) {
  const TemporaryFolder folder;
  ConvertOptions options;
  options.type = type;
  double last = 0.0;
  options.progress = [&](double fraction) {
    EXPECT_GE(fraction, last);
    last = fraction;
  };
  const Status status = convert_huggingface(checkpoint, folder.path("out.gguf"), options);
  ASSERT_TRUE(status) << status.error().message;
  EXPECT_DOUBLE_EQ(last, 1.0);
  const auto model = open_model(folder.path("out.gguf"));
  ASSERT_TRUE(model) << model.error().message;
  const auto file = SafetensorsFile::open(checkpoint + "/model.safetensors");
  ASSERT_TRUE(file) << file.error().message;
  const ModelConfig& config = (*model)->config();
  EXPECT_EQ(config.tokenizer.model_proto, read_file(checkpoint + "/spiece.model"));
  const auto names = huggingface_names(config);
  for (const TensorSpec& spec : musicgen_layout(config)) {
    const std::vector<float> expected = expected_values(*file, names.at(spec.name));
    const TensorView view = (*model)->tensor(spec.name);
    ASSERT_EQ(view.type, spec.always_f32() ? DType::f32 : type) << spec.name;
    std::vector<float> values(expected.size());
    view.to_float(values);
    for (std::size_t i = 0; i < values.size(); ++i) {
      const float wanted = view.type == DType::f32 ? expected[i] : half_to_float(float_to_half(expected[i]));
      ASSERT_EQ(std::bit_cast<std::uint32_t>(values[i]), std::bit_cast<std::uint32_t>(wanted)) << spec.name << " at " << i;
    }
  }
}

TEST(Convert, KeepsEveryBitOfASmallCheckpoint) {
  const TemporaryFolder folder;
  SmallCheckpoint().write(folder.path());
  expect_round_trip(folder.path(), DType::f32);
  expect_round_trip(folder.path(), DType::f16);
}

TEST(Convert, KeepsEveryBitOfTheGoldens) {
  for (const char* name : {"tiny-a", "tiny-b", "tiny-c", "stereo", "melody", "stereo-melody"}) {
    SCOPED_TRACE(name);
    const std::string checkpoint = source_path("tests/goldens/") + name + "/model";
    if (!std::filesystem::exists(checkpoint)) GTEST_SKIP() << "no goldens";
    expect_round_trip(checkpoint, DType::f32);
    expect_round_trip(checkpoint, DType::f16);
  }
}

TEST(Convert, LetsThePersonNameTheModel) {
  const TemporaryFolder folder;
  SmallCheckpoint().write(folder.path("in"));
  ConvertOptions options;
  options.license = "MIT";
  options.name = "mine";
  options.source = "trained at home";
  options.description = "one line";
  ASSERT_TRUE(convert_huggingface(folder.path("in"), folder.path("out.gguf"), options));
  const auto model = open_model(folder.path("out.gguf"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->config().license, "MIT");
  EXPECT_EQ((*model)->config().name, "mine");
  EXPECT_EQ((*model)->config().source, "trained at home");
  EXPECT_EQ((*model)->config().description, "one line");
  options.name = "two\nlines";
  EXPECT_FALSE(convert_huggingface(folder.path("in"), folder.path("out.gguf"), options));
}

/// The message of a conversion that fails; nothing is left behind.
std::string refusal(const SmallCheckpoint& checkpoint, const ConvertOptions& options) {
  const TemporaryFolder folder;
  checkpoint.write(folder.path("in"));
  const Status status = convert_huggingface(folder.path("in"), folder.path("out.gguf"), options);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder.path()), {}), 1);  // "in"
  return status ? std::string("accepted") : status.error().message;
}

TEST(Convert, RefusesValuesThatAreNotNumbers) {
  for (const float value : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    SmallCheckpoint checkpoint;
    checkpoint.tensors["decoder.lm_heads.0.weight"].values[5] = value;
    EXPECT_NE(refusal(checkpoint, {}).find("'decoder.lm_heads.0.weight' holds values that are not finite"), std::string::npos);
  }
  SmallCheckpoint zeros;  // v of zeros has no direction
  auto& v = zeros.tensors["audio_encoder.decoder.layers.0.conv.weight_v"].values;
  v.assign(v.size(), 0.0F);
  EXPECT_NE(refusal(zeros, {}).find("not finite"), std::string::npos);
}

TEST(Convert, RefusesValuesBeyondHalfPrecision) {
  SmallCheckpoint checkpoint;
  checkpoint.tensors["decoder.lm_heads.0.weight"].values[5] = -70000.0F;
  ConvertOptions options;
  options.type = DType::f16;
  EXPECT_NE(refusal(checkpoint, options).find("'decoder.head.0.weight' holds -70000, which is beyond the range of f16"),
            std::string::npos);
  options.type = DType::q8_0;  // its scale would not fit f16
  SmallCheckpoint wide(small_wide_config());
  wide.tensors["decoder.model.decoder.layers.0.fc1.weight"].values[700] = 1e9F;
  const std::string message = refusal(wide, options);
  EXPECT_NE(message.find("'decoder.blk.0.ffn_up.weight' holds 1000000000, which is beyond the range of q8_0"), std::string::npos)
      << message;
  options.type = DType::f16;
  const TemporaryFolder folder;
  SmallCheckpoint bias;  // biases are f32 in every file
  bias.tensors["enc_to_dec_proj.bias"].values[0] = 70000.0F;
  bias.write(folder.path("in"));
  EXPECT_TRUE(convert_huggingface(folder.path("in"), folder.path("out.gguf"), options));
}

/// A mixed file: every tensor has the type of the rule, and the bytes that ggml's own reference makes of the checkpoint's floats.
TEST(Convert, WritesBlocksAsGgmlDoes) {
  const TemporaryFolder folder;
  const SmallCheckpoint checkpoint(small_wide_config());
  checkpoint.write(folder.path("in"));
  const auto source = SafetensorsFile::open(folder.path("in/model.safetensors"));
  ASSERT_TRUE(source) << source.error().message;
  for (const DType type : {DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}) {
    SCOPED_TRACE(name_of(type));
    ConvertOptions options;
    options.type = type;
    double last = 0.0;
    options.progress = [&](double fraction) { last = fraction; };
    const Status status = convert_huggingface(folder.path("in"), folder.path("out.gguf"), options);
    ASSERT_TRUE(status) << status.error().message;
    EXPECT_DOUBLE_EQ(last, 1.0);
    const auto model = open_model(folder.path("out.gguf"));
    ASSERT_TRUE(model) << model.error().message;
    const auto names = huggingface_names((*model)->config());
    for (const TensorSpec& spec : musicgen_layout((*model)->config())) {
      const TensorView view = (*model)->tensor(spec.name);
      ASSERT_EQ(view.type, stored_type(spec, type)) << spec.name;
      const std::vector<float> values = expected_values(*source, names.at(spec.name));
      std::vector<std::byte> expected(view.data.size());
      if (view.type == DType::f32)
        std::memcpy(expected.data(), values.data(), expected.size());
      else
        ggml_get_type_traits(static_cast<ggml_type>(view.type))
            ->from_float_ref(values.data(), expected.data(), static_cast<std::int64_t>(values.size()));
      EXPECT_EQ(std::memcmp(view.data.data(), expected.data(), expected.size()), 0) << spec.name;
    }
  }
}

TEST(Convert, ReadsEveryPublishedKind) {
  for (const ModelConfig& config : {small_stereo_config(), small_melody_config()}) {
    const TemporaryFolder folder;
    SmallCheckpoint(config).write(folder.path("in"));
    const Status status = convert_huggingface(folder.path("in"), folder.path("out.gguf"), {});
    ASSERT_TRUE(status) << status.error().message;
    const auto model = open_model(folder.path("out.gguf"));
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ((*model)->config().decoder.delays, config.decoder.delays);
    EXPECT_EQ((*model)->config().melody.length, config.melody.length);
  }
}

TEST(Convert, StopsWhenAsked) {
  ConvertOptions options;
  int asked = 0;
  options.cancelled = [&] { return ++asked > 3; };
  EXPECT_NE(refusal(SmallCheckpoint(), options).find("cancelled"), std::string::npos);
}

}  // namespace
}  // namespace continuo::weights
