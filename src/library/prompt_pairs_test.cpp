// The labelled pairs, with the demo model's text encoder, through the index as it is used: what docs/quality.md says of the
// default threshold. Another model is measured with prompt_pairs_tool.
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/engine.h"
#include "library/prompt_index.h"
#include "library/reference_prompts.h"

namespace continuo::library {
namespace {

class PromptPairs : public ::testing::Test {
 protected:
  void SetUp() override {
    const std::string model = std::string(CONTINUO_SOURCE_DIR) + "/models/demo.gguf";
    if (!std::filesystem::exists(model)) GTEST_SKIP() << "models/demo.gguf is not there";
    engine_ = std::move(*engine::Engine::create(std::move(*weights::open_model(model)), {.threads = 1}));
  }

  std::vector<float> fingerprint(const std::string& prompt) { return *engine_->fingerprint(prompt); }

  std::unique_ptr<engine::Engine> engine_;
};

TEST_F(PromptPairs, AreToldApart) {
  std::vector<float> references;
  for (const std::string_view prompt : reference_prompts()) {
    const auto one = fingerprint(std::string(prompt));
    references.insert(references.end(), one.begin(), one.end());
  }
  const int width = engine_->config().text.width;
  const auto space = FingerprintSpace::fit(references, width, default_space, default_dimensions);
  ASSERT_TRUE(space) << space.error().message;

  std::ifstream file(std::string(CONTINUO_SOURCE_DIR) + "/tests/library/prompt_pairs.tsv");
  int count[2] = {0, 0}, offered[2] = {0, 0};
  for (std::string line; std::getline(file, line);) {
    if (line.starts_with('#')) continue;
    const auto tab = line.find('\t', 2);
    ASSERT_NE(std::string::npos, tab) << line;
    const int similar = line[0] - '0';
    const std::string a = line.substr(2, tab - 2), b = line.substr(tab + 1);
    PromptIndex index(*space, {"demo", 10});
    ASSERT_TRUE(index.add(a, fingerprint(a))) << a;
    const auto found = index.similar(fingerprint(b));
    ASSERT_TRUE(found) << b;
    ++count[similar];
    offered[similar] += static_cast<int>(found->size());
    EXPECT_EQ(1U, index.similar(fingerprint(a), 0.999F)->size()) << a;
  }
  EXPECT_EQ(100, count[0]);
  EXPECT_EQ(100, count[1]);
  const double precision = static_cast<double>(offered[1]) / (offered[0] + offered[1]), recall = offered[1] / 100.0;
  RecordProperty("precision", std::to_string(precision));
  RecordProperty("recall", std::to_string(recall));
  EXPECT_GE(precision, 0.83);
  EXPECT_GE(recall, 0.66);
}

}  // namespace
}  // namespace continuo::library
