// The yaml in audiocraft's checkpoints, read as the settings of the language model and as those of the codec.
#include <cmath>

#include "fuzz/fuzz_support.h"
#include "weights/audiocraft_config.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace continuo;
  auto fields = weights::YamlFields::parse(fuzz::as_text(data, size), "input");
  if (!fields) {
    fuzz::check_refusal(fields.error());
    return 0;
  }
  weights::ModelConfig config;  // with the parts that come from elsewhere: the text encoder, and a tokenizer of three pieces
  config.text = {.width = 6, .layers = 2, .heads = 2, .head_width = 3, .feed_forward = 8, .vocabulary = 12};
  config.tokenizer.model_proto = "\x0A\x03\x0A\x01p\x0A\x03\x0A\x01q\x0A\x05\x0A\x01u\x18\x02";
  auto codec_fields = *fields;
  const auto codec = weights::read_audiocraft_codec(codec_fields, config.codec);
  const auto encoder = weights::read_audiocraft_decoder(*fields, config);
  if (!codec) fuzz::check_refusal(codec.error());
  if (!encoder) fuzz::check_refusal(encoder.error());
  // Both from one text, which real checkpoints never are: it lets an input get as far as the arithmetic on all the numbers.
  if (!codec || !encoder) return 0;
  if (const auto joined = weights::join_audiocraft_parts(*fields, config); !joined) {
    fuzz::check_refusal(joined.error());
    return 0;
  }
  FUZZ_DEMAND(config.decoder.max_frames >= 1 &&
              config.decoder.delays.size() == static_cast<std::size_t>(config.decoder.codebooks));
  FUZZ_DEMAND(std::isfinite(config.codec.frame_rate()) && config.codec.frame_rate() > 0.0);
  if (config.is_melody()) FUZZ_DEMAND(config.melody.length >= 1 && config.melody.hop >= 1);
  return 0;
}
