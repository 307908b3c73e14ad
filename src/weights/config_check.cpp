#include "weights/config_check.h"

#include <algorithm>
#include <cmath>
#include <string_view>

#include "weights/spiece_proto.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr int width_max = 16384;
constexpr int layers_max = 256;
constexpr int vocabulary_max = 1 << 20;
constexpr int kernel_max = 64;
constexpr std::size_t proto_max = std::size_t{16} << 20;

/// Collects the first complaint.
class Checker {
 public:
  explicit Checker(const std::string& origin) : origin_(origin) {}

  void whole(std::string_view key, int value, int low, int high) {
    if (value < low || value > high) complain("{} is {}; {} to {} are accepted", key, value, low, high);
  }
  void real(std::string_view key, float value, float low, float high) {
    if (!(value >= low && value <= high)) complain("{} is {}; {} to {} are accepted", key, value, low, high);
  }
  void text(std::string_view key, const std::string& value) {
    if (value.size() > 4096) complain("{} has {} bytes; at most 4096 are accepted", key, value.size());
    if (!valid_utf8(value) || !single_line(value)) complain("{} is not one line of valid UTF-8", key);
  }
  template <class... Args>
  void require(bool condition, fmt::format_string<Args...> format, Args&&... args) {
    if (!condition) complain(format, std::forward<Args>(args)...);
  }
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    if (status_) status_ = fail(ErrorCode::corrupt_file, "{}: {}", origin_, fmt::format(format, std::forward<Args>(args)...));
  }
  bool good() const { return status_.has_value(); }
  Status take() { return std::move(status_); }
  const std::string& origin() const { return origin_; }

 private:
  const std::string& origin_;
  Status status_;
};

void check_text(Checker& check, const T5Config& text) {
  check.whole("text.embedding_length", text.width, 1, width_max);
  check.whole("text.block_count", text.layers, 1, layers_max);
  check.whole("text.head_count", text.heads, 1, 256);
  check.whole("text.head_length", text.head_width, 1, 512);
  check.whole("text.feed_forward_length", text.feed_forward, 1, 4 * width_max);
  check.whole("text.vocabulary", text.vocabulary, 1, vocabulary_max);
  // Half of the buckets are for each direction, half of those for exact distances; the rest divide by log(max / exact).
  check.whole("text.relative_buckets", text.relative_buckets, 4, 1024);
  check.whole("text.relative_max_distance", text.relative_max_distance, text.relative_buckets / 4 + 1, 1 << 16);
  check.real("text.layer_norm_epsilon", text.norm_epsilon, 1e-12F, 0.1F);
  check.require(text.relative_buckets % 2 == 0, "text.relative_buckets is {}, an odd number", text.relative_buckets);
}

void check_decoder(Checker& check, const DecoderConfig& decoder) {
  check.whole("musicgen.embedding_length", decoder.width, 4, width_max);
  check.whole("musicgen.block_count", decoder.layers, 1, layers_max);
  check.whole("musicgen.attention.head_count", decoder.heads, 1, 256);
  check.whole("musicgen.feed_forward_length", decoder.feed_forward, 1, 4 * width_max);
  check.whole("musicgen.codebook_count", decoder.codebooks, 1, 16);
  check.whole("musicgen.codebook_size", decoder.codebook_size, 2, 1 << 16);
  check.whole("musicgen.max_frames", decoder.max_frames, 1, 1 << 16);
  check.whole("musicgen.audio_channels", decoder.audio_channels, 1, 2);
  check.real("musicgen.embedding_scale", decoder.embedding_scale, 1e-6F, 1e6F);
  check.real("musicgen.attention.layer_norm_epsilon", decoder.norm_epsilon, 1e-12F, 0.1F);
  if (!check.good()) return;
  check.require(decoder.width % decoder.heads == 0, "musicgen.embedding_length {} is not a multiple of the {} heads",
                decoder.width, decoder.heads);
  check.require(decoder.width % 2 == 0, "musicgen.embedding_length is {}, an odd number", decoder.width);
  check.require(decoder.special_id == decoder.codebook_size, "musicgen.special_id is {}, not the codebook size {}",
                decoder.special_id, decoder.codebook_size);
  check.require(decoder.delays.size() == static_cast<std::size_t>(decoder.codebooks),
                "musicgen.delays has {} entries for {} codebooks", decoder.delays.size(), decoder.codebooks);
  for (const int delay : decoder.delays) check.whole("an entry of musicgen.delays", delay, 0, 2 * decoder.codebooks);
}

void check_codec(Checker& check, const CodecConfig& codec) {
  check.whole("codec.sample_rate", codec.sample_rate, 100, 192'000);
  check.whole("codec.filters", codec.filters, 1, 1024);
  check.whole("codec.width", codec.width, 1, width_max);
  check.whole("codec.kernel", codec.kernel, 1, kernel_max);
  check.whole("codec.last_kernel", codec.last_kernel, 1, kernel_max);
  check.whole("codec.residual_kernel", codec.residual_kernel, 1, kernel_max);
  check.whole("codec.residual_layers", codec.residual_layers, 1, 8);
  check.whole("codec.dilation_growth", codec.dilation_growth, 1, 8);
  check.whole("codec.compress", codec.compress, 1, codec.filters);  // or a residual unit had no channels inside
  check.whole("codec.lstm_layers", codec.lstm_layers, 1, 8);
  check.whole("codec.codebook_count", codec.codebooks, 1, 16);
  check.whole("codec.codebook_size", codec.codebook_size, 2, 1 << 16);
  check.real("codec.trim_right_ratio", codec.trim_right_ratio, 0.0F, 1.0F);
  check.require(!codec.ratios.empty() && codec.ratios.size() <= 8, "codec.ratios has {} entries; 1 to 8 are accepted",
                codec.ratios.size());
  for (const int ratio : codec.ratios) check.whole("an entry of codec.ratios", ratio, 1, 64);
  if (!check.good()) return;
  const int channels = codec.filters << codec.ratios.size();
  check.require(channels <= width_max, "codec.filters {} with {} ratios make {} channels; at most {} are accepted", codec.filters,
                codec.ratios.size(), channels, width_max);
  std::int64_t hop = 1;
  for (const int ratio : codec.ratios) hop *= ratio;  // at most 64^8 = 2^48
  check.require(hop <= 1 << 16 && hop <= codec.sample_rate, "codec.ratios make frames of {} samples at {} samples a second", hop,
                codec.sample_rate);
  std::int64_t dilation = 1;
  for (int j = 1; j < codec.residual_layers; ++j) dilation *= codec.dilation_growth;  // at most 8^7
  check.require(dilation <= 4096, "codec.dilation_growth {} in {} layers makes a dilation of {}; at most 4096 is accepted",
                codec.dilation_growth, codec.residual_layers, dilation);
}

void check_melody(Checker& check, const MelodyConfig& melody) {
  check.whole("musicgen.chroma_bins", melody.bins, 1, 256);
  check.whole("musicgen.chroma_length", melody.length, 1, 1 << 16);
  check.whole("musicgen.chroma_n_fft", melody.n_fft, 16, 1 << 20);
  check.whole("musicgen.chroma_hop", melody.hop, 1, melody.n_fft);
}

void check_tokenizer(Checker& check, const TokenizerConfig& tokenizer, const T5Config& text) {
  check.whole("tokenizer.pad_id", tokenizer.pad_id, 0, text.vocabulary - 1);
  check.whole("tokenizer.end_id", tokenizer.end_id, 0, text.vocabulary - 1);
  check.whole("tokenizer.unknown_id", tokenizer.unknown_id, 0, text.vocabulary - 1);
  check.require(tokenizer.model_proto.size() <= proto_max, "tokenizer.model has {} bytes; at most {} are accepted",
                tokenizer.model_proto.size(), proto_max);
  if (!check.good()) return;
  const auto pieces = inspect_spiece(tokenizer.model_proto);
  if (!pieces) {
    check.complain("tokenizer.model is not a SentencePiece model: {}", pieces.error().message);
    return;
  }
  check.require(pieces->count <= text.vocabulary, "the tokenizer has {} pieces, but the text encoder only {} embedding rows",
                pieces->count, text.vocabulary);
}

void check_defaults(Checker& check, const GenerationDefaults& defaults) {
  check.real("generation.guidance", defaults.guidance, 0.0F, 100.0F);
  check.real("generation.temperature", defaults.temperature, 0.0F, 100.0F);
  check.real("generation.top_p", defaults.top_p, 0.0F, 1.0F);
  check.whole("generation.top_k", defaults.top_k, 0, 1 << 16);
}

}  // namespace

Status check_config(const ModelConfig& config, const std::string& origin) {
  Checker check(origin);
  check.text("general.name", config.name);
  check.text("general.description", config.description);
  check.text("general.license", config.license);
  check.text("general.source", config.source);
  check_text(check, config.text);
  check_decoder(check, config.decoder);
  check_codec(check, config.codec);
  check_defaults(check, config.defaults);
  if (config.is_melody()) check_melody(check, config.melody);
  if (check.good()) {
    check.require(config.codec.codebooks * config.decoder.audio_channels == config.decoder.codebooks,
                  "the codec has {} codebooks, but the decoder {} for {} audio channels: they are parts of different models",
                  config.codec.codebooks, config.decoder.codebooks, config.decoder.audio_channels);
  }
  check.require(config.codec.codebook_size == config.decoder.codebook_size,
                "the codec's codebooks have {} entries, but the decoder's {}: they are parts of different models",
                config.codec.codebook_size, config.decoder.codebook_size);
  if (check.good()) check_tokenizer(check, config.tokenizer, config.text);
  return check.take();
}

}  // namespace continuo::weights
