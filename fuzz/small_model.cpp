// small_model OUT.gguf: about the smallest model file that is accepted, for the seeds of the gguf target. A fuzzer tries several
// times as many damaged copies of it in a second as of a golden one, which has a tokenizer and layers of every kind twice.
#include <cstdio>
#include <filesystem>

#include "weights/convert.h"
#include "weights/fixtures_test.h"

int main(int count, char** words) {
  using namespace continuo::weights;
  if (count != 2) return 2;
  ModelConfig config = testing::small_config();
  config.text = {.width = 1, .layers = 1, .heads = 1, .head_width = 1, .feed_forward = 1, .vocabulary = 3, .relative_buckets = 4};
  config.text.relative_max_distance = 4;
  config.decoder.width = 4;
  config.decoder.layers = 1;
  config.decoder.heads = 1;
  config.decoder.feed_forward = 1;
  config.decoder.codebooks = 1;
  config.decoder.codebook_size = config.decoder.special_id = 2;
  config.decoder.delays = {0};
  config.codec = {.sample_rate = 100, .filters = 1, .width = 1, .ratios = {2}, .kernel = 1, .last_kernel = 1};
  config.codec.residual_kernel = config.codec.compress = config.codec.lstm_layers = 1;
  config.codec.codebooks = 1;
  config.codec.codebook_size = 2;
  testing::SmallCheckpoint checkpoint(config);
  checkpoint.spiece = testing::spiece_of(3);
  checkpoint.config["text_encoder"].update({{"relative_attention_num_buckets", 4}, {"relative_attention_max_distance", 4}});
  checkpoint.config["audio_encoder"].update(
      {{"kernel_size", 1}, {"last_kernel_size", 1}, {"residual_kernel_size", 1}, {"compress", 1}, {"num_lstm_layers", 1}});
  const testing::TemporaryFolder folder;
  checkpoint.write(folder.path("model"));
  ConvertOptions options;
  options.name = options.source = "fuzz";
  options.license = "MIT";
  const auto status = convert(folder.path("model"), words[1], options);
  if (!status) std::fprintf(stderr, "%s\n", status.error().message.c_str());
  return status ? 0 : 1;
}
