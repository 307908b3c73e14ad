// The texts of a Hugging Face folder: config.json, then after headings (fuzz_support.h) generation_config.json, the feature
// extractor's file, the model card and the licence's text. The tokenizer's files have targets of their own.
#include <cmath>

#include "fuzz/fuzz_support.h"
#include "weights/config_check.h"
#include "weights/fixtures_test.h"
#include "weights/huggingface_config.h"
#include "weights/huggingface_names.h"
#include "weights/musicgen_layout.h"
#include "weights/text_check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  static const fuzz::InputFolder folder(
      {"config.json", "generation_config.json", "preprocessor_config.json", "processor_config.json", "README.md", "LICENSE"});
  static const bool ready = (folder.write("spiece.model", weights::testing::spiece_of(12)), true);
  FUZZ_DEMAND(ready);
  folder.fill(fuzz::as_text(data, size));
  const auto config = weights::read_huggingface_config(folder.path());
  if (!config) {
    fuzz::check_refusal(config.error());
    return 0;
  }
  FUZZ_DEMAND(weights::check_config(*config, "again"));
  FUZZ_DEMAND(config->decoder.max_frames >= 1 && std::isfinite(config->codec.frame_rate()) && config->codec.frame_rate() > 0.0);
  FUZZ_DEMAND(config->license.size() <= 100 && !config->name.empty() && weights::single_line(config->name));
  // Every tensor that such a model needs has a place in the checkpoint.
  const auto names = weights::huggingface_names(*config);
  for (const auto& spec : weights::musicgen_layout(*config)) FUZZ_DEMAND(names.contains(spec.name));
  return 0;
}
