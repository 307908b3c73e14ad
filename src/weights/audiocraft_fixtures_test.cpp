#include "weights/audiocraft_fixtures_test.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <stdexcept>

#include "weights/audiocraft_names.h"
#include "weights/huggingface_names.h"
#include "weights/musicgen_layout.h"

namespace continuo::weights::testing {

namespace {

constexpr const char* decoder_settings = R"(
sample_rate: 1000
channels: 1
dataset: {segment_duration: 3}
classifier_free_guidance: {training_dropout: 0.3, inference_coef: 3.0}
fuser:
  cross_attention_pos_emb: false
  cross_attention_pos_emb_scale: 1
  sum: []
  prepend: []
  cross: [description]
  input_interpolate: []
conditioners:
  description:
    model: t5
    t5: {name: t5-base, finetune: false, word_dropout: 0.3, normalize_text: false}
interleave_stereo_codebooks: {use: false, per_timestep: false}
lm_model: transformer_lm
codebooks_pattern:
  modeling: delay
  delay: {delays: [0, 1], flatten_first: 0, empty_initial: 0}
transformer_lm:
  dim: 8
  num_heads: 2
  num_layers: 2
  hidden_scale: 1.5
  n_q: 2
  card: 4
  activation: gelu
  norm_first: true
  bias_ff: false
  bias_attn: false
  bias_proj: false
  past_context: null
  causal: true
  layer_scale: null
  positional_embedding: sin
  xpos: false
  norm: layer_norm
  qk_layer_norm: false
  kv_repeat: 1
)";

constexpr const char* codec_settings = R"(
sample_rate: 1000
channels: 1
compression_model: encodec
encodec:
  autoencoder: seanet
  quantizer: rvq
  sample_rate: ${sample_rate}
  channels: ${channels}
  causal: false
  renormalize: false
seanet:
  dimension: 3
  channels: ${channels}
  causal: ${encodec.causal}
  n_filters: 2
  n_residual_layers: 1
  ratios: [3, 2]
  activation: ELU
  activation_params: {alpha: 1.0}
  norm: weight_norm
  kernel_size: 7
  residual_kernel_size: 3
  last_kernel_size: 7
  dilation_base: 2
  pad_mode: constant
  true_skip: true
  compress: 2
  lstm: 2
  decoder: {trim_right_ratio: 1.0, final_activation: null, final_activation_params: null}
  encoder: {}
rvq: {n_q: 2, bins: 4, decay: 0.99}
)";

/// The tensors of `names`, taken from the twin; parts of a fused one follow one another.
Tensors renamed(const SourceNames& names, const Tensors& twin, const ModelConfig& config) {
  const SourceNames twins = huggingface_names(config);
  Tensors tensors;
  for (const TensorSpec& spec : musicgen_layout(config)) {  // in this order q, k, v do
    const auto found = names.find(spec.name);
    if (found == names.end()) continue;
    const std::string& theirs = found->second.name;
    const std::string& from = twins.at(spec.name).name;
    if (found->second.weight_norm) {
      for (const char* part : {".weight_v", ".weight_g"}) tensors[theirs + part] = twin.at(from + part);
      continue;
    }
    Floats& tensor = tensors[theirs];
    const Floats& part = twin.at(from);
    if (tensor.shape.empty())
      tensor.shape = part.shape;
    else
      tensor.shape[0] += part.shape[0];
    tensor.values.insert(tensor.values.end(), part.values.begin(), part.values.end());
  }
  return tensors;
}

}  // namespace

void replace_in(std::string& text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  if (at == std::string::npos) throw std::runtime_error("no '" + from + "' to replace");
  text.replace(at, from.size(), to);
}

std::string audiocraft_file(const Tensors& tensors, const std::string& yaml) {
  std::map<std::string, std::string> storages;
  const std::string state = pickled_tensors(tensors, storages);
  return zip_of(torch_members(
      pickled::program(pickled::dict({{"best_state", state}, {"xp.cfg", pickled::text(yaml)}, {"exported", "\x88"}})), storages));
}

SmallAudiocraft::SmallAudiocraft(const ModelConfig& config)
    : decoder_yaml(decoder_settings), codec_yaml(codec_settings), twin(config) {
  decoder = renamed(audiocraft_decoder_names(config), twin.tensors, config);
  codec = renamed(audiocraft_codec_names(config), twin.tensors, config);
}

void SmallAudiocraft::write(const std::string& folder) const {
  std::filesystem::create_directories(folder + "/t5");
  write_file(folder + "/state_dict.bin", audiocraft_file(decoder, decoder_yaml));
  write_file(folder + "/compression_state_dict.bin", audiocraft_file(codec, codec_yaml));
  constexpr std::string_view prefix = "text_encoder.";
  Tensors text;
  for (const auto& [name, tensor] : twin.tensors) {
    if (name.starts_with(prefix)) text[name.substr(prefix.size())] = tensor;
  }
  text["decoder.block.0.layer.0.SelfAttention.q.weight"] = {{1}, {0.0F}};  // a whole T5 has a decoder too
  text["lm_head.weight"] = {{1}, {0.0F}};
  write_file(folder + "/t5/config.json", twin.config["text_encoder"].dump());
  write_file(folder + "/t5/model.safetensors", safetensors_of(text));
  write_file(folder + "/t5/spiece.model", twin.spiece);
}

void make_melody(SmallAudiocraft& checkpoint) {
  replace_in(checkpoint.decoder_yaml, "prepend: []", "prepend: [self_wav, description]");
  replace_in(checkpoint.decoder_yaml, "cross: [description]", "cross: []");
  replace_in(checkpoint.decoder_yaml, "conditioners:\n",
             "conditioners:\n  self_wav: {model: chroma_stem, chroma_stem: {sample_rate: 1000, n_chroma: 12, radix2_exp: 8, "
             "argmax: true}}\n");
  std::erase_if(checkpoint.decoder, [](const auto& item) { return item.first.find("cross") != std::string::npos; });
  const std::string wav = "condition_provider.conditioners.self_wav.";
  checkpoint.decoder[wav + "output_proj.weight"] = {{8, 12}, std::vector<float>(96, 0.5F)};
  checkpoint.decoder[wav + "output_proj.bias"] = {{8}, std::vector<float>(8, 0.25F)};
  checkpoint.decoder[wav + "chroma.spec.window"] = {{256}, std::vector<float>(256, 1.0F)};
}

std::vector<float> values_of(const CheckpointModel& model, const TensorSpec& spec) {
  std::vector<float> values;
  const Status status = model.stream(spec, [&](std::span<const float> part) -> Status {
    values.insert(values.end(), part.begin(), part.end());
    return {};
  });
  EXPECT_TRUE(status) << status.error().message;
  return values;
}

}  // namespace continuo::weights::testing
