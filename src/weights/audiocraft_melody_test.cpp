// Conditions in audiocraft's files: a melody in front of the codes, and projections, which it always has.
#include <gtest/gtest.h>

#include <cstring>

#include "weights/audiocraft.h"
#include "weights/audiocraft_fixtures_test.h"
#include "weights/convert.h"
#include "weights/huggingface.h"
#include "weights/tensor_source.h"

namespace continuo::weights {
namespace {

using namespace testing;

TEST(AudiocraftConditions, ReadsMelody) {
  const TemporaryFolder folder;
  SmallAudiocraft checkpoint;
  make_melody(checkpoint);
  checkpoint.write(folder.path());
  const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().melody.bins, 12);
  EXPECT_EQ(model->config().melody.n_fft, 256);
  EXPECT_EQ(model->config().melody.hop, 64);
  EXPECT_EQ(model->config().melody.length, 47);  // 3000 samples are 46 whole hops
}

TEST(AudiocraftConditions, FillsAWindowShorterThanASpectrumUp) {
  const TemporaryFolder folder;
  SmallAudiocraft checkpoint;
  make_melody(checkpoint);
  replace_in(checkpoint.decoder_yaml, "segment_duration: 3", "segment_duration: 0.2");  // 200 samples; a spectrum takes 256
  checkpoint.write(folder.path());
  const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ(model->config().melody.length, 5);
}

/// Opens, converts, and opens the result: the projection of a condition as wide as the decoder must come along.
void expect_projection(const SmallAudiocraft& checkpoint, const std::string& name) {
  const TemporaryFolder folder;
  checkpoint.write(folder.path());
  const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_TRUE(model->config().always_projects);
  ConvertOptions options;
  options.t5 = folder.path("t5");
  const Status status = convert(folder.path(), folder.path("out.gguf"), options);
  ASSERT_TRUE(status) << status.error().message;
  const auto converted = open_model(folder.path("out.gguf"));
  ASSERT_TRUE(converted) << converted.error().message;
  EXPECT_TRUE((*converted)->config().always_projects);
  for (const TensorSpec& spec : musicgen_layout(model->config())) {
    if (spec.name != name) continue;
    const std::vector<float> values = values_of(*model, spec);
    const TensorView view = (*converted)->tensor(name);
    ASSERT_EQ(view.data.size(), values.size() * sizeof(float));
    EXPECT_EQ(std::memcmp(view.data.data(), values.data(), view.data.size()), 0);
    return;
  }
  ADD_FAILURE() << name << " is not part of the model";
}

TEST(AudiocraftConditions, ProjectsATextAsWideAsTheDecoder) {
  ModelConfig config = small_config();
  config.text.width = config.decoder.width;
  config.always_projects = true;
  expect_projection(SmallAudiocraft(config), "decoder.text_proj.weight");

  const TemporaryFolder folder;  // transformers' twin has no projection, and its file needs no key
  config.always_projects = false;
  SmallCheckpoint(config).write(folder.path());
  const auto twin = HuggingFaceModel::open(folder.path());
  ASSERT_TRUE(twin) << twin.error().message;
  EXPECT_FALSE(twin->config().always_projects);
}

TEST(AudiocraftConditions, ProjectsAsManyClassesAsTheDecoderIsWide) {
  SmallAudiocraft checkpoint;
  make_melody(checkpoint);
  replace_in(checkpoint.decoder_yaml, "n_chroma: 12", "n_chroma: 8");
  checkpoint.decoder["condition_provider.conditioners.self_wav.output_proj.weight"] = {{8, 8}, std::vector<float>(64, 0.5F)};
  expect_projection(checkpoint, "decoder.chroma_proj.weight");
  checkpoint.decoder.erase("condition_provider.conditioners.self_wav.output_proj.weight");
  const TemporaryFolder folder;
  checkpoint.write(folder.path());
  const auto model = AudiocraftModel::open(folder.path(), folder.path("t5"));
  ASSERT_FALSE(model);
  EXPECT_NE(model.error().message.find("self_wav.output_proj.weight' is missing"), std::string::npos) << model.error().message;
}

}  // namespace
}  // namespace continuo::weights
