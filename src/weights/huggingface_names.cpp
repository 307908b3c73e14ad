#include "weights/huggingface_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "weights/musicgen_layout.h"

namespace continuo::weights {

namespace {

class Names {
 public:
  /// `otherwise` is where a checkpoint without the first name has it.
  void add(std::string ours, std::string theirs, std::string otherwise = {}) {
    names_.emplace(std::move(ours), SourceTensor{std::move(theirs), false, std::move(otherwise)});
  }
  void linear(const std::string& ours, const std::string& theirs) { add(ours + ".weight", theirs + ".weight"); }
  void with_bias(const std::string& ours, const std::string& theirs) {
    linear(ours, theirs);
    add(ours + ".bias", theirs + ".bias");
  }
  /// `theirs` is the wrapper, which holds the normed convolution as .conv
  void conv(const std::string& ours, const std::string& theirs) {
    names_.emplace(ours + ".weight", SourceTensor{theirs + ".conv", true});
    add(ours + ".bias", theirs + ".conv.bias");
  }
  SourceNames take() { return std::move(names_); }

 private:
  SourceNames names_;
};

void add_text(Names& names, const T5Config& text, const std::string& prefix) {
  names.add("text.embed.weight", prefix + "shared.weight", prefix + "encoder.embed_tokens.weight");
  for (int i = 0; i < text.layers; ++i) {
    const std::string ours = fmt::format("text.blk.{}.", i);
    const std::string theirs = fmt::format("{}encoder.block.{}.layer.", prefix, i);
    names.linear(ours + "attn_norm", theirs + "0.layer_norm");
    for (const char* part : {"q", "k", "v", "o"}) names.linear(ours + "attn_" + part, theirs + "0.SelfAttention." + part);
    if (i == 0) names.linear(ours + "attn_rel_bias", theirs + "0.SelfAttention.relative_attention_bias");
    names.linear(ours + "ffn_norm", theirs + "1.layer_norm");
    const std::string dense = theirs + "1.DenseReluDense.";
    names.linear(ours + "ffn_down", dense + "wo");
    if (text.gated) names.linear(ours + "ffn_gate", dense + "wi_0");  // the one with the activation
    names.linear(ours + "ffn_up", dense + (text.gated ? "wi_1" : "wi"));
  }
  names.linear("text.output_norm", prefix + "encoder.final_layer_norm");
}

void add_decoder(Names& names, const ModelConfig& config) {
  if (has_text_projection(config)) names.with_bias("decoder.text_proj", "enc_to_dec_proj");
  if (has_chroma_projection(config)) names.with_bias("decoder.chroma_proj", "audio_enc_to_dec_proj");
  for (int k = 0; k < config.decoder.codebooks; ++k) {
    names.linear(fmt::format("decoder.codebook.{}.embed", k), fmt::format("decoder.model.decoder.embed_tokens.{}", k));
    names.linear(fmt::format("decoder.head.{}", k), fmt::format("decoder.lm_heads.{}", k));
  }
  static constexpr std::array<std::pair<const char*, const char*>, 2> attentions = {
      {{"self", "self_attn"}, {"cross", "encoder_attn"}}};
  static constexpr std::array<std::pair<const char*, const char*>, 4> parts = {
      {{"_q", ".q_proj"}, {"_k", ".k_proj"}, {"_v", ".v_proj"}, {"_o", ".out_proj"}}};
  for (int i = 0; i < config.decoder.layers; ++i) {
    const std::string ours = fmt::format("decoder.blk.{}.", i);
    const std::string theirs = fmt::format("decoder.model.decoder.layers.{}.", i);
    for (const auto& [our_name, their_name] : attentions) {
      if (our_name == std::string_view("cross") && config.is_melody()) continue;
      names.with_bias(ours + our_name + "_norm", theirs + their_name + "_layer_norm");
      for (const auto& [our_part, their_part] : parts) names.linear(ours + our_name + our_part, theirs + their_name + their_part);
    }
    names.with_bias(ours + "ffn_norm", theirs + "final_layer_norm");
    names.linear(ours + "ffn_up", theirs + "fc1");
    names.linear(ours + "ffn_down", theirs + "fc2");
  }
  names.with_bias("decoder.output_norm", "decoder.model.decoder.layer_norm");
}

void add_lstm(Names& names, const std::string& ours, const std::string& theirs, int layers) {
  for (int l = 0; l < layers; ++l) {
    names.add(fmt::format("{}.{}.w_ih", ours, l), fmt::format("{}.lstm.weight_ih_l{}", theirs, l));
    names.add(fmt::format("{}.{}.w_hh", ours, l), fmt::format("{}.lstm.weight_hh_l{}", theirs, l));
    names.add(fmt::format("{}.{}.b_ih", ours, l), fmt::format("{}.lstm.bias_ih_l{}", theirs, l));
    names.add(fmt::format("{}.{}.b_hh", ours, l), fmt::format("{}.lstm.bias_hh_l{}", theirs, l));
  }
}

/// The residual block's list is ELU, convolution, ELU, convolution.
void add_residual_unit(Names& names, const std::string& ours, const std::string& theirs, bool shortcut) {
  names.conv(ours + ".conv1", theirs + ".block.1");
  names.conv(ours + ".conv2", theirs + ".block.3");
  if (shortcut) names.conv(ours + ".shortcut", theirs + ".shortcut");
}

void add_codec(Names& names, const CodecConfig& codec) {
  for (int k = 0; k < codec.codebooks; ++k) {
    names.add(fmt::format("codec.quantizer.{}.codebook", k), fmt::format("audio_encoder.quantizer.layers.{}.codebook.embed", k));
  }
  const auto stages = static_cast<int>(codec.ratios.size());
  const auto decoder = [](int n) { return fmt::format("audio_encoder.decoder.layers.{}", n); };
  int n = 0;
  names.conv("codec.decoder.in", decoder(n++));
  add_lstm(names, "codec.decoder.lstm", decoder(n++), codec.lstm_layers);
  for (int i = 0; i < stages; ++i) {
    const std::string ours = fmt::format("codec.decoder.up.{}", i);
    ++n;  // ELU
    names.conv(ours + ".conv", decoder(n++));
    for (int j = 0; j < codec.residual_layers; ++j) {
      add_residual_unit(names, fmt::format("{}.res.{}", ours, j), decoder(n++), codec.conv_shortcut);
    }
  }
  ++n;  // ELU
  names.conv("codec.decoder.out", decoder(n));

  const auto encoder = [](int m) { return fmt::format("audio_encoder.encoder.layers.{}", m); };
  n = 0;
  names.conv("codec.encoder.in", encoder(n++));
  for (int i = 0; i < stages; ++i) {
    const std::string ours = fmt::format("codec.encoder.down.{}", i);
    for (int j = 0; j < codec.residual_layers; ++j) {
      add_residual_unit(names, fmt::format("{}.res.{}", ours, j), encoder(n++), codec.conv_shortcut);
    }
    ++n;  // ELU
    names.conv(ours + ".conv", encoder(n++));
  }
  add_lstm(names, "codec.encoder.lstm", encoder(n++), codec.lstm_layers);
  ++n;  // ELU
  names.conv("codec.encoder.out", encoder(n));
}

}  // namespace

SourceNames huggingface_names(const ModelConfig& config) {
  Names names;
  add_text(names, config.text, "text_encoder.");
  add_decoder(names, config);
  add_codec(names, config.codec);
  return names.take();
}

SourceNames t5_names(const T5Config& text, const std::string& prefix) {
  Names names;
  add_text(names, text, prefix);
  return names.take();
}

bool is_leftover(std::string_view source_name, const ModelConfig& config) {
  if (source_name == "text_encoder.encoder.embed_tokens.weight" || source_name == "text_encoder.shared.weight") return true;
  if (source_name == "decoder.model.decoder.embed_positions.weights") return true;
  constexpr std::string_view quantizer = "audio_encoder.quantizer.layers.";
  if (!source_name.starts_with(quantizer)) return false;
  const std::string_view rest = source_name.substr(quantizer.size());
  int index = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  if (error != std::errc()) return false;
  const std::string_view field = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return field == ".codebook.inited" || field == ".codebook.cluster_size" || field == ".codebook.embed_avg" ||
         (field == ".codebook.embed" && index >= config.codec.codebooks);
}

}  // namespace continuo::weights
