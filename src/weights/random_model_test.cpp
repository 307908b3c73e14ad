#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "weights/musicgen_layout.h"
#include "weights/tensor_source.h"

namespace continuo::weights {
namespace {

std::vector<float> values_of(const TensorSource& model, std::string_view name) {
  const TensorView view = model.tensor(name);
  std::vector<float> values(static_cast<std::size_t>(view.shape.elements()));
  view.to_float(values);
  return values;
}

TEST(RandomModel, HasTheTrueSizes) {
  const struct {
    const char* name;
    double decoder_millions;
  } shapes[] = {{"musicgen-small", 420}, {"musicgen-medium", 1838}, {"musicgen-large", 3260}};
  for (const auto& shape : shapes) {
    const auto model = random_model(shape.name, DType::f16, 1);
    ASSERT_TRUE(model) << model.error().message;
    double parameters = 0.0;
    for (const TensorSpec& spec : musicgen_layout((*model)->config())) {
      EXPECT_TRUE((*model)->has(spec.name));
      if (spec.name.starts_with("decoder.")) parameters += static_cast<double>(spec.shape.elements());
    }
    EXPECT_NEAR(parameters / 1e6, shape.decoder_millions, 10.0) << shape.name;
    EXPECT_EQ((*model)->config().codec.hop(), 640);
    EXPECT_EQ((*model)->config().codec.frame_rate(), 50.0);
  }
  EXPECT_FALSE(random_model("musicgen-tiny", DType::f32, 1));
}

TEST(RandomModel, IsRepeatableAndScaled) {
  const auto model = random_model("musicgen-small", DType::f32, 7);
  const auto again = random_model("musicgen-small", DType::f32, 7);
  const auto other = random_model("musicgen-small", DType::f32, 8);
  ASSERT_TRUE(model && again && other);
  const std::string name = "decoder.blk.3.self_q.weight";
  const std::vector<float> values = values_of(**model, name);
  values_of(**again, "decoder.blk.3.self_k.weight");  // the order of questions does not matter
  EXPECT_EQ(values, values_of(**again, name));
  EXPECT_NE(values, values_of(**other, name));
  EXPECT_NE(values, values_of(**model, "decoder.blk.3.self_k.weight"));
  double sum = 0.0, squares = 0.0;
  for (const float value : values) sum += value, squares += static_cast<double>(value) * value;
  const auto count = static_cast<double>(values.size());
  EXPECT_NEAR(sum / count, 0.0, 1e-4);
  EXPECT_NEAR(std::sqrt(squares / count), 1.0 / 32.0, 1e-4);
  EXPECT_EQ((*model)->tensor(name).data.data(), (*model)->tensor(name).data.data());  // made once
}

TEST(RandomModel, MakesBlocksOfTheSameVariance) {
  for (const DType type : {DType::bf16, DType::q8_0, DType::q4_0, DType::q4_k}) {
    SCOPED_TRACE(name_of(type));
    const auto model = random_model("musicgen-small", type, 7);
    ASSERT_TRUE(model) << model.error().message;
    // The smallest scales of all are those of T5's queries.
    for (const auto& [name, deviation] :
         {std::pair{"decoder.blk.3.ffn_down.weight", 1.0 / 64.0}, {"text.blk.0.attn_q.weight", 1.0 / 8.0 / std::sqrt(768.0)}}) {
      EXPECT_EQ((*model)->tensor(name).type, type) << name;
      const std::vector<float> values = values_of(**model, name);
      double sum = 0.0, squares = 0.0;
      for (const float value : values) sum += value, squares += static_cast<double>(value) * value;
      const auto count = static_cast<double>(values.size());
      EXPECT_NEAR(sum / count / deviation, 0.0, 0.01) << name;
      EXPECT_NEAR(std::sqrt(squares / count) / deviation, 1.0, 0.01) << name;
    }
    EXPECT_EQ((*model)->tensor("decoder.head.0.weight").type, type == DType::bf16 ? type : DType::q8_0);
    EXPECT_EQ((*model)->tensor("codec.decoder.lstm.0.w_ih").type, DType::f16);
    EXPECT_EQ(values_of(**model, "decoder.head.1.weight"),
              values_of(**random_model("musicgen-small", type, 7), "decoder.head.1.weight"));
  }
}

TEST(RandomModel, HalvesOnlyMatrices) {
  const auto model = random_model("musicgen-small", DType::f16, 1);
  ASSERT_TRUE(model);
  EXPECT_EQ((*model)->tensor("codec.decoder.out.weight").type, DType::f16);
  EXPECT_EQ((*model)->tensor("codec.decoder.out.weight").data.size(), 64U * 7U * 2U);
  EXPECT_EQ((*model)->tensor("codec.decoder.out.bias").type, DType::f32);
}

}  // namespace
}  // namespace continuo::weights
