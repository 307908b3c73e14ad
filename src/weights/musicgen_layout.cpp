#include "weights/musicgen_layout.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace continuo::weights {

namespace {

class Layout {
 public:
  void add(std::string name, Shape shape, TensorKind kind, std::int64_t fan_in = 1) {
    specs_.push_back({std::move(name), shape, kind, fan_in});
  }
  void linear(const std::string& name, std::int64_t out, std::int64_t in) {
    add(name + ".weight", {out, in}, TensorKind::matrix, in);
  }
  void layer_norm(const std::string& name, std::int64_t width) {
    add(name + ".weight", {width}, TensorKind::gain);
    add(name + ".bias", {width}, TensorKind::bias);
  }
  void conv(const std::string& name, std::int64_t out, std::int64_t in, std::int64_t kernel) {
    add(name + ".weight", {out, in, kernel}, TensorKind::matrix, in * kernel);
    add(name + ".bias", {out}, TensorKind::bias);
  }
  std::vector<TensorSpec> take() { return std::move(specs_); }

 private:
  std::vector<TensorSpec> specs_;
};

void add_text(Layout& layout, const T5Config& text) {
  const std::int64_t inner = std::int64_t{text.heads} * text.head_width;
  layout.add("text.embed.weight", {text.vocabulary, text.width}, TensorKind::embedding);
  for (int i = 0; i < text.layers; ++i) {
    const std::string block = fmt::format("text.blk.{}.", i);
    layout.add(block + "attn_norm.weight", {text.width}, TensorKind::gain);
    layout.linear(block + "attn_q", inner, text.width);
    layout.linear(block + "attn_k", inner, text.width);
    layout.linear(block + "attn_v", inner, text.width);
    layout.linear(block + "attn_o", text.width, inner);
    if (i == 0) layout.add(block + "attn_rel_bias.weight", {text.relative_buckets, text.heads}, TensorKind::table);
    layout.add(block + "ffn_norm.weight", {text.width}, TensorKind::gain);
    layout.linear(block + "ffn_up", text.feed_forward, text.width);
    if (text.gated) layout.linear(block + "ffn_gate", text.feed_forward, text.width);
    layout.linear(block + "ffn_down", text.width, text.feed_forward);
  }
  layout.add("text.output_norm.weight", {text.width}, TensorKind::gain);
}

void add_decoder(Layout& layout, const ModelConfig& config) {
  const DecoderConfig& decoder = config.decoder;
  const std::int64_t d = decoder.width;
  if (has_text_projection(config)) {
    layout.linear("decoder.text_proj", d, config.text.width);
    layout.add("decoder.text_proj.bias", {d}, TensorKind::bias);
  }
  if (has_chroma_projection(config)) {
    layout.linear("decoder.chroma_proj", d, config.melody.bins);
    layout.add("decoder.chroma_proj.bias", {d}, TensorKind::bias);
  }
  for (int k = 0; k < decoder.codebooks; ++k) {
    layout.add(fmt::format("decoder.codebook.{}.embed.weight", k), {decoder.codebook_size + 1, d}, TensorKind::embedding);
  }
  for (int i = 0; i < decoder.layers; ++i) {
    const std::string block = fmt::format("decoder.blk.{}.", i);
    for (const char* attention : {"self", "cross"}) {
      if (attention == std::string_view("cross") && config.is_melody()) continue;  // its conditioning is in the sequence
      layout.layer_norm(block + attention + "_norm", d);
      for (const char* part : {"_q", "_k", "_v", "_o"}) layout.linear(block + attention + part, d, d);
    }
    layout.layer_norm(block + "ffn_norm", d);
    layout.linear(block + "ffn_up", decoder.feed_forward, d);
    layout.linear(block + "ffn_down", d, decoder.feed_forward);
  }
  layout.layer_norm("decoder.output_norm", d);
  for (int k = 0; k < decoder.codebooks; ++k) layout.linear(fmt::format("decoder.head.{}", k), decoder.codebook_size, d);
}

void add_residual_units(Layout& layout, const std::string& stage, const CodecConfig& codec, std::int64_t channels) {
  for (int j = 0; j < codec.residual_layers; ++j) {
    const std::string unit = fmt::format("{}.res.{}.", stage, j);
    const std::int64_t inner = channels / codec.compress;
    layout.conv(unit + "conv1", inner, channels, codec.residual_kernel);
    layout.conv(unit + "conv2", channels, inner, 1);
    if (codec.conv_shortcut) layout.conv(unit + "shortcut", channels, channels, 1);
  }
}

void add_lstm(Layout& layout, const std::string& name, const CodecConfig& codec, std::int64_t width) {
  for (int l = 0; l < codec.lstm_layers; ++l) {
    const std::string lstm = fmt::format("{}.{}.", name, l);
    layout.add(lstm + "w_ih", {4 * width, width}, TensorKind::matrix, width);
    layout.add(lstm + "w_hh", {4 * width, width}, TensorKind::matrix, width);
    layout.add(lstm + "b_ih", {4 * width}, TensorKind::bias);
    layout.add(lstm + "b_hh", {4 * width}, TensorKind::bias);
  }
}

constexpr std::int64_t codec_channels = 1;  // stereo models run the mono codec twice

void add_codec(Layout& layout, const CodecConfig& codec) {
  const auto stages = static_cast<int>(codec.ratios.size());
  const std::int64_t widest = std::int64_t{codec.filters} << stages;
  for (int k = 0; k < codec.codebooks; ++k) {
    layout.add(fmt::format("codec.quantizer.{}.codebook", k), {codec.codebook_size, codec.width}, TensorKind::embedding);
  }
  layout.conv("codec.decoder.in", widest, codec.width, codec.kernel);
  add_lstm(layout, "codec.decoder.lstm", codec, widest);
  for (int i = 0; i < stages; ++i) {
    const std::string stage = fmt::format("codec.decoder.up.{}", i);
    const std::int64_t channels = widest >> i;
    const std::int64_t ratio = codec.ratios[static_cast<std::size_t>(i)];
    // Of the 2 x ratio taps of a transposed convolution two meet in any one output.
    layout.add(stage + ".conv.weight", {channels, channels / 2, 2 * ratio}, TensorKind::matrix, 2 * channels);
    layout.add(stage + ".conv.bias", {channels / 2}, TensorKind::bias);
    add_residual_units(layout, stage, codec, channels / 2);
  }
  layout.conv("codec.decoder.out", codec_channels, codec.filters, codec.last_kernel);

  layout.conv("codec.encoder.in", codec.filters, codec_channels, codec.kernel);
  for (int i = 0; i < stages; ++i) {
    const std::string stage = fmt::format("codec.encoder.down.{}", i);
    const std::int64_t channels = std::int64_t{codec.filters} << i;
    const std::int64_t ratio = codec.ratios[static_cast<std::size_t>(stages - 1 - i)];
    add_residual_units(layout, stage, codec, channels);
    layout.conv(stage + ".conv", 2 * channels, channels, 2 * ratio);
  }
  add_lstm(layout, "codec.encoder.lstm", codec, widest);
  layout.conv("codec.encoder.out", codec.width, widest, codec.last_kernel);
}

}  // namespace

bool has_text_projection(const ModelConfig& config) {
  return config.always_projects || config.text.width != config.decoder.width;
}

bool has_chroma_projection(const ModelConfig& config) {
  return config.is_melody() && (config.always_projects || config.melody.bins != config.decoder.width);
}

std::vector<TensorSpec> musicgen_layout(const ModelConfig& config) {
  Layout layout;
  add_text(layout, config.text);
  add_decoder(layout, config);
  add_codec(layout, config.codec);
  return layout.take();
}

}  // namespace continuo::weights
