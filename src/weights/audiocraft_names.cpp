#include "weights/audiocraft_names.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <utility>

#include "weights/huggingface_names.h"

namespace continuo::weights {

namespace {

constexpr std::string_view conditioners = "condition_provider.conditioners.";

void linear(SourceNames& names, const std::string& ours, const std::string& theirs) {
  names.emplace(ours + ".weight", SourceTensor{theirs + ".weight"});
}

void with_bias(SourceNames& names, const std::string& ours, const std::string& theirs) {
  linear(names, ours, theirs);
  names.emplace(ours + ".bias", SourceTensor{theirs + ".bias"});
}

void attention(SourceNames& names, const std::string& ours, const std::string& theirs) {
  static constexpr std::array<const char*, 3> parts = {"_q", "_k", "_v"};
  for (int part = 0; part < 3; ++part) {
    SourceTensor source{theirs + ".in_proj_weight"};
    source.part = part;
    source.parts = 3;
    names.emplace(ours + parts[static_cast<std::size_t>(part)] + ".weight", std::move(source));
  }
  linear(names, ours + "_o", theirs + ".out_proj");
}

/// transformers' name of a codec tensor as audiocraft has it; see the classes NormConv1d and NormConvTranspose1d there.
std::string codec_name(std::string name, bool transposed) {
  constexpr std::string_view prefix = "audio_encoder.";
  name.erase(0, prefix.size());
  const auto replace = [&](std::string_view from, std::string_view to) {
    const std::size_t at = name.rfind(from);
    if (at != std::string::npos) name.replace(at, from.size(), to);
  };
  if (name.starts_with("quantizer.")) {
    replace("quantizer.layers.", "quantizer.vq.layers.");
    replace(".codebook.", "._codebook.");
    return name;
  }
  replace(".conv", transposed ? ".convtr.convtr" : ".conv.conv");
  replace("coder.layers.", "coder.model.");  // of encoder and decoder
  return name;
}

}  // namespace

SourceNames audiocraft_decoder_names(const ModelConfig& config) {
  SourceNames names;
  const std::string conditioner(conditioners);
  if (has_text_projection(config)) with_bias(names, "decoder.text_proj", conditioner + "description.output_proj");
  if (has_chroma_projection(config)) with_bias(names, "decoder.chroma_proj", conditioner + "self_wav.output_proj");
  for (int k = 0; k < config.decoder.codebooks; ++k) {
    linear(names, fmt::format("decoder.codebook.{}.embed", k), fmt::format("emb.{}", k));
    linear(names, fmt::format("decoder.head.{}", k), fmt::format("linears.{}", k));
  }
  for (int i = 0; i < config.decoder.layers; ++i) {
    const std::string ours = fmt::format("decoder.blk.{}.", i);
    const std::string theirs = fmt::format("transformer.layers.{}.", i);
    with_bias(names, ours + "self_norm", theirs + "norm1");
    attention(names, ours + "self", theirs + "self_attn");
    if (!config.is_melody()) {
      with_bias(names, ours + "cross_norm", theirs + "norm_cross");
      attention(names, ours + "cross", theirs + "cross_attention");
    }
    with_bias(names, ours + "ffn_norm", theirs + "norm2");
    linear(names, ours + "ffn_up", theirs + "linear1");
    linear(names, ours + "ffn_down", theirs + "linear2");
  }
  with_bias(names, "decoder.output_norm", "out_norm");
  return names;
}

SourceNames audiocraft_codec_names(const ModelConfig& config) {
  SourceNames names;
  for (auto& [ours, source] : huggingface_names(config)) {
    if (!ours.starts_with("codec.")) continue;
    const bool transposed = ours.starts_with("codec.decoder.up.") && ours.find(".res.") == std::string::npos;
    names.emplace(ours, SourceTensor{codec_name(source.name, transposed), source.weight_norm});
  }
  return names;
}

bool is_audiocraft_decoder_leftover(std::string_view name, const ModelConfig& config) {
  if (!config.is_melody() || !name.starts_with(conditioners)) return false;
  return name.substr(conditioners.size()).starts_with("self_wav.chroma.");  // the spectrum's window
}

bool is_audiocraft_codec_leftover(std::string_view name, const ModelConfig& config) {
  constexpr std::string_view quantizer = "quantizer.vq.layers.";
  if (!name.starts_with(quantizer)) return false;
  const std::string_view rest = name.substr(quantizer.size());
  int index = 0;
  const auto [end, error] = std::from_chars(rest.data(), rest.data() + rest.size(), index);
  if (error != std::errc()) return false;
  const std::string_view field = rest.substr(static_cast<std::size_t>(end - rest.data()));
  return field == "._codebook.inited" || field == "._codebook.cluster_size" || field == "._codebook.embed_avg" ||
         (field == "._codebook.embed" && index >= config.codec.codebooks);
}

bool is_t5_leftover(std::string_view name) {
  return name == "shared.weight" || name == "encoder.embed_tokens.weight" || name == "lm_head.weight" ||
         name.starts_with("decoder.");
}

}  // namespace continuo::weights
