#include "weights/audiocraft_config.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "weights/config_check.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

using Names = std::vector<std::string>;

template <class... Args>
tl::unexpected<Error> unsupported(const YamlFields& fields, fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::unsupported, "{}: {}", fields.where(), fmt::format(format, std::forward<Args>(args)...));
}

/// A setting of which one value is supported; absent, it has the value `absent`.
Status expect_text(YamlFields& fields, const std::string& path, const std::string& only, std::string absent) {
  fields.get(path, absent);
  CONTINUO_CHECK(fields.status());
  if (absent == only) return {};
  return unsupported(fields, "{} is '{}'; only '{}' is supported", path, printable(absent), only);
}

Status expect_off(YamlFields& fields, const Names& paths) {
  for (const std::string& path : paths) {
    bool on = false;
    fields.get(path, on);
    if (on) return unsupported(fields, "{} is set, which is not supported", path);
  }
  return fields.status();
}

Status expect_absent(YamlFields& fields, const Names& paths) {
  for (const std::string& path : paths) {
    if (fields.has(path)) return unsupported(fields, "{} is set, which is not supported", path);
  }
  return fields.status();
}

Status expect_number(YamlFields& fields, const std::string& path, double only) {
  double value = only;
  fields.get(path, value);
  CONTINUO_CHECK(fields.status());
  if (value == only) return {};
  return unsupported(fields, "{} is {}; only {} is supported", path, value, only);
}

Result<Activation> read_activation(YamlFields& fields, const std::string& path) {
  std::string name = "relu";
  fields.get(path, name);
  CONTINUO_CHECK(fields.status());
  if (name == "gelu") return Activation::gelu_erf;
  if (name == "relu") return Activation::relu;
  return unsupported(fields, "{} is '{}'; gelu and relu are supported", path, printable(name));
}

/// The transformer: pre-norm, sinusoidal positions, no biases beside the norms'.
Status read_transformer(YamlFields& fields, DecoderConfig& decoder) {
  double hidden_scale = 4.0;
  bool norm_first = false, causal = false;
  const std::string lm = "transformer_lm.";
  fields.need(lm + "dim", decoder.width);
  fields.need(lm + "num_heads", decoder.heads);
  fields.need(lm + "num_layers", decoder.layers);
  fields.need(lm + "n_q", decoder.codebooks);
  fields.need(lm + "card", decoder.codebook_size);
  fields.get(lm + "hidden_scale", hidden_scale);
  fields.get(lm + "norm_first", norm_first);
  fields.get(lm + "causal", causal);
  CONTINUO_CHECK(fields.status());
  if (!norm_first) return unsupported(fields, "transformer_lm.norm_first is off; only pre-norm transformers are supported");
  if (!causal) return unsupported(fields, "transformer_lm.causal is off; only causal transformers are supported");
  CONTINUO_CHECK(expect_text(fields, lm + "norm", "layer_norm", "layer_norm"));
  CONTINUO_CHECK(expect_text(fields, lm + "positional_embedding", "sin", "sin"));
  CONTINUO_CHECK(expect_number(fields, lm + "positional_scale", 1.0));
  CONTINUO_CHECK(expect_number(fields, lm + "max_period", 10000.0));
  CONTINUO_CHECK(expect_number(fields, lm + "kv_repeat", 1.0));
  CONTINUO_CHECK(expect_off(fields, {lm + "bias_ff", lm + "bias_attn", lm + "bias_proj", lm + "xpos", lm + "qk_layer_norm",
                                     lm + "qk_layer_norm_cross"}));
  CONTINUO_CHECK(expect_absent(fields, {lm + "past_context", lm + "layer_scale"}));
  CONTINUO_TRY(decoder.activation, read_activation(fields, lm + "activation"));
  const double inner = hidden_scale * decoder.width;
  if (!(inner >= 0.0 && inner <= 1e6)) return unsupported(fields, "transformer_lm.hidden_scale is {}", hidden_scale);
  decoder.feed_forward = static_cast<int>(inner);
  decoder.special_id = decoder.codebook_size;
  return {};
}

Status read_pattern(YamlFields& fields, DecoderConfig& decoder) {
  // Older files name the pattern in another place, without its delays.
  const bool older = !fields.has("codebooks_pattern.modeling");
  CONTINUO_CHECK(expect_text(fields, older ? "transformer_lm.q_modeling" : "codebooks_pattern.modeling", "delay", "none"));
  const int count = std::clamp(decoder.codebooks, 0, 16);
  for (int k = 0; k < count; ++k) decoder.delays.push_back(k);
  if (!older) fields.get("codebooks_pattern.delay.delays", decoder.delays);
  CONTINUO_CHECK(expect_number(fields, "codebooks_pattern.delay.flatten_first", 0.0));
  CONTINUO_CHECK(expect_number(fields, "codebooks_pattern.delay.empty_initial", 0.0));
  bool interleaved = false;
  fields.get("channels", decoder.audio_channels);
  fields.get("interleave_stereo_codebooks.use", interleaved);
  CONTINUO_CHECK(expect_off(fields, {"interleave_stereo_codebooks.per_timestep"}));
  if (interleaved == (decoder.audio_channels == 2)) return {};
  return unsupported(fields, "there are {} audio channels {} interleaved codebooks; stereo models with them are supported",
                     decoder.audio_channels, interleaved ? "with" : "without");
}

/// One-hot chroma rows in front of the codes (ChromaStemConditioner, ChromaExtractor).
Status read_melody(YamlFields& fields, MelodyConfig& melody) {
  const std::string chroma = "conditioners.self_wav.chroma_stem.";
  int exponent = 12;
  bool argmax = false;
  CONTINUO_CHECK(expect_text(fields, "conditioners.self_wav.model", "chroma_stem", "none"));
  CONTINUO_CHECK(expect_absent(fields, {chroma + "nfft", chroma + "winlen", chroma + "winhop"}));
  fields.need(chroma + "n_chroma", melody.bins);
  fields.get(chroma + "radix2_exp", exponent);
  fields.get(chroma + "argmax", argmax);
  CONTINUO_CHECK(fields.status());
  if (!argmax) return unsupported(fields, "{}argmax is off; only one-hot chroma is supported", chroma);
  if (exponent < 4 || exponent > 20) return unsupported(fields, "{}radix2_exp is {}; 4 to 20 are accepted", chroma, exponent);
  if (melody.bins < 1) return unsupported(fields, "{}n_chroma is {}", chroma, melody.bins);
  melody.n_fft = 1 << exponent;
  melody.hop = melody.n_fft / 4;
  return {};
}

/// How text and melody reach the transformer: text alone by cross-attention, or chroma and text in front of the codes.
Result<std::string> read_conditioning(YamlFields& fields, MelodyConfig& melody) {
  Names cross, prepend, sum, interpolate;
  fields.get("fuser.cross", cross);
  fields.get("fuser.prepend", prepend);
  fields.get("fuser.sum", sum);
  fields.get("fuser.input_interpolate", interpolate);
  CONTINUO_CHECK(fields.status());
  const bool by_text = cross == Names{"description"} && prepend.empty();
  const bool by_melody = cross.empty() && prepend == Names{"self_wav", "description"};
  if ((!by_text && !by_melody) || !sum.empty() || !interpolate.empty()) {
    return unsupported(fields,
                       "fuser combines its conditions in a way that is not supported; models of text, and of melody and "
                       "text, are");
  }
  CONTINUO_CHECK(expect_off(fields, {"fuser.cross_attention_pos_emb", "conditioners.description.t5.normalize_text"}));
  for (const std::string& name : fields.keys("conditioners")) {
    if (name == "args" || name == "description" || (by_melody && name == "self_wav")) continue;
    return unsupported(fields, "the condition '{}' is not supported", printable(name));
  }
  CONTINUO_CHECK(expect_text(fields, "conditioners.description.model", "t5", "none"));
  if (by_melody) CONTINUO_CHECK(read_melody(fields, melody));
  std::string encoder = "t5-base";
  fields.get("conditioners.description.t5.name", encoder);
  CONTINUO_CHECK(fields.status());
  return encoder;
}

}  // namespace

Result<std::string> read_audiocraft_decoder(YamlFields& fields, ModelConfig& config) {
  CONTINUO_CHECK(expect_text(fields, "lm_model", "transformer_lm", "none"));
  CONTINUO_CHECK(read_transformer(fields, config.decoder));
  CONTINUO_CHECK(read_pattern(fields, config.decoder));
  return read_conditioning(fields, config.melody);
}

Status read_audiocraft_codec(YamlFields& fields, CodecConfig& codec) {
  CONTINUO_CHECK(expect_text(fields, "compression_model", "encodec", "none"));
  CONTINUO_CHECK(expect_text(fields, "encodec.autoencoder", "seanet", "none"));
  CONTINUO_CHECK(expect_text(fields, "encodec.quantizer", "rvq", "none"));
  CONTINUO_CHECK(expect_off(fields, {"encodec.renormalize"}));
  codec.lstm_layers = 0;
  codec.residual_layers = 3;
  std::string pad_mode = "reflect";
  bool true_skip = true;
  double trim_right_ratio = codec.trim_right_ratio;
  fields.need("encodec.sample_rate", codec.sample_rate);
  fields.need("seanet.dimension", codec.width);
  fields.need("seanet.n_filters", codec.filters);
  fields.need("seanet.ratios", codec.ratios);
  fields.need("rvq.n_q", codec.codebooks);
  fields.need("rvq.bins", codec.codebook_size);
  fields.get("seanet.causal", codec.causal);
  fields.get("seanet.kernel_size", codec.kernel);
  fields.get("seanet.last_kernel_size", codec.last_kernel);
  fields.get("seanet.residual_kernel_size", codec.residual_kernel);
  fields.get("seanet.n_residual_layers", codec.residual_layers);
  fields.get("seanet.dilation_base", codec.dilation_growth);
  fields.get("seanet.compress", codec.compress);
  fields.get("seanet.lstm", codec.lstm_layers);
  fields.get("seanet.true_skip", true_skip);
  fields.get("seanet.pad_mode", pad_mode);
  fields.get("seanet.decoder.trim_right_ratio", trim_right_ratio);
  CONTINUO_CHECK(fields.status());
  codec.conv_shortcut = !true_skip;
  codec.trim_right_ratio = static_cast<float>(trim_right_ratio);
  CONTINUO_CHECK(expect_number(fields, "seanet.channels", 1.0));
  CONTINUO_CHECK(expect_text(fields, "seanet.norm", "weight_norm", "none"));
  CONTINUO_CHECK(expect_text(fields, "seanet.activation", "ELU", "ELU"));
  CONTINUO_CHECK(expect_number(fields, "seanet.activation_params.alpha", 1.0));
  CONTINUO_CHECK(expect_absent(fields, {"seanet.decoder.final_activation", "rvq.codebook_dim"}));
  for (const char* side : {"seanet.encoder", "seanet.decoder"}) {
    for (const std::string& key : fields.keys(side)) {
      if (key == "trim_right_ratio" || key.starts_with("final_activation")) continue;
      return unsupported(fields, "{}.{} is set for one side alone, which is not supported", side, printable(key));
    }
  }
  if (pad_mode == "constant")
    codec.pad_mode = PadMode::constant;
  else if (pad_mode == "reflect")
    codec.pad_mode = PadMode::reflect;
  else if (pad_mode == "replicate")
    codec.pad_mode = PadMode::replicate;
  else
    return unsupported(fields, "seanet.pad_mode is '{}'; constant, reflect and replicate are supported", printable(pad_mode));
  return fields.status();
}

Status join_audiocraft_parts(YamlFields& decoder_fields, ModelConfig& config) {
  const auto apart = [&](const char* what, int decoder, int codec) {
    return fail(ErrorCode::corrupt_file, "{}: the decoder has {} {}, but the codec {}: they are parts of different models",
                decoder_fields.where(), decoder, what, codec);
  };
  const int channels = std::max(config.decoder.audio_channels, 1);
  const int needed = config.decoder.codebooks / channels;
  if (needed > config.codec.codebooks) return apart("codebooks a channel", needed, config.codec.codebooks);
  config.codec.codebooks = needed;  // a codec may have more; the first ones are then all there is to use
  double seconds = 30.0;
  int sample_rate = config.codec.sample_rate;
  decoder_fields.get("dataset.segment_duration", seconds);
  decoder_fields.get("sample_rate", sample_rate);
  CONTINUO_CHECK(decoder_fields.status());
  if (sample_rate != config.codec.sample_rate) return apart("samples a second", sample_rate, config.codec.sample_rate);
  if (!(seconds > 0.0 && seconds <= 600.0)) {
    return unsupported(decoder_fields, "dataset.segment_duration is {}; up to 600 seconds are accepted", seconds);
  }
  CONTINUO_CHECK(check_config(config, decoder_fields.where()));  // what follows divides by the hop
  config.decoder.max_frames = std::max(1, static_cast<int>(std::lround(seconds * config.codec.frame_rate())));
  if (config.is_melody()) {
    // Spectra are centred, so there is one more than there are whole hops; what is shorter than a spectrum is filled up to one.
    const double samples = std::max<double>(std::floor(seconds * sample_rate), config.melody.n_fft);
    config.melody.length = static_cast<int>(samples / config.melody.hop) + 1;
    CONTINUO_CHECK(expect_number(decoder_fields, "conditioners.self_wav.chroma_stem.sample_rate", sample_rate));
  }
  // BaseConditioner always has its output_proj. The key is kept for the models that need it.
  const int width = config.decoder.width;
  config.always_projects = config.text.width == width || (config.is_melody() && config.melody.bins == width);
  return check_config(config, decoder_fields.where());
}

}  // namespace continuo::weights
