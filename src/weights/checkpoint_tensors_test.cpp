#include "weights/checkpoint_tensors.h"

#include <gtest/gtest.h>

#include <filesystem>

#include "weights/huggingface.h"
#include "weights/torch_fixtures_test.h"

namespace continuo::weights {
namespace {

using namespace testing;

/// Every tensor of a model in our names, as floats.
std::map<std::string, std::vector<float>> everything(const CheckpointModel& model) {
  std::map<std::string, std::vector<float>> all;
  for (const TensorSpec& spec : musicgen_layout(model.config())) {
    const Status status = model.stream(spec, [&](std::span<const float> part) -> Status {
      all[spec.name].insert(all[spec.name].end(), part.begin(), part.end());
      return {};
    });
    EXPECT_TRUE(status) << status.error().message;
  }
  return all;
}

TEST(CheckpointTensors, AreTheSameInEveryKindOfFile) {
  const std::string goldens = source_path("tests/goldens/sharded/");
  if (!std::filesystem::exists(goldens)) GTEST_SKIP() << "no goldens";
  const auto single = HuggingFaceModel::open(goldens + "single");
  ASSERT_TRUE(single) << single.error().message;
  const auto expected = everything(*single);
  EXPECT_GT(expected.size(), 50U);
  for (const char* kind : {"safetensors", "bin", "bin_sharded"}) {
    const auto model = HuggingFaceModel::open(goldens + kind);
    ASSERT_TRUE(model) << model.error().message;
    EXPECT_EQ(everything(*model), expected) << kind;
  }
}

TEST(CheckpointTensors, PreferSafetensors) {
  const TemporaryFolder folder;
  SmallCheckpoint checkpoint;
  checkpoint.write(folder.path());
  folder.write("pytorch_model.bin", "not read");
  ASSERT_TRUE(HuggingFaceModel::open(folder.path()));
  std::filesystem::remove(folder.path("model.safetensors"));
  EXPECT_FALSE(HuggingFaceModel::open(folder.path()));
  folder.write("pytorch_model.bin", torch_of(checkpoint.tensors));
  const auto model = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(everything(*model).at("decoder.head.1.weight"), checkpoint.tensors.at("decoder.lm_heads.1.weight").values);
  EXPECT_TRUE(CheckpointTensors::in_folder(folder.path()));
}

TEST(CheckpointTensors, ReadNothingWhereADimensionIsZero) {
  const TemporaryFolder folder;  // the product of the dimensions before the 0 does not fit a number
  const std::string header = R"({"a":{"dtype":"F32","shape":[4611686018427387904,4,0],"data_offsets":[0,0]}})";
  folder.write("model.safetensors", safetensors_bytes(header, ""));
  const auto tensors = CheckpointTensors::open_folder(folder.path());
  ASSERT_TRUE(tensors) << tensors.error().message;
  const auto values = tensors->read("a");
  ASSERT_TRUE(values) << values.error().message;
  EXPECT_TRUE(values->empty());

  const std::string wrapped = R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})";
  folder.write("model.safetensors", safetensors_bytes(wrapped, ""));
  EXPECT_FALSE(CheckpointTensors::open_folder(folder.path()));
}

TEST(CheckpointTensors, RefuseBadShardsOfTorchFiles) {
  const TemporaryFolder folder;
  const auto reason = [&](const char* map) {
    folder.write("pytorch_model.bin.index.json", map);
    const auto tensors = CheckpointTensors::open_folder(folder.path());
    return tensors ? std::string("accepted") : tensors.error().message;
  };
  EXPECT_NE(reason(R"({"weight_map":{"a":"../x.bin"}})").find("'../x.bin' is not the name of a torch file"), std::string::npos);
  EXPECT_NE(reason(R"({"weight_map":{"a":"x.safetensors"}})").find("not the name of a torch file"), std::string::npos);
  EXPECT_NE(reason(R"({"weight_map":{"a":"y\u0000.bin"}})").find("'y?.bin' is not the name"), std::string::npos);
  EXPECT_NE(reason(R"({"weight_map":{"a":7}})").find("not a name"), std::string::npos);
  EXPECT_NE(reason(R"({"weight_map":{"a":"x.bin"}})").find("x.bin"), std::string::npos);
  Tensors tensors;
  tensors["a"] = {{1}, {1.0F}};
  folder.write("x.bin", torch_of(tensors));
  folder.write("y.bin", torch_of(tensors));
  EXPECT_EQ(reason(R"({"weight_map":{"a":"x.bin"}})"), "accepted");
  EXPECT_NE(reason(R"({"weight_map":{"a":"x.bin","b":"y.bin"}})").find("tensor 'a' is in another file too"), std::string::npos);
}

}  // namespace
}  // namespace continuo::weights
