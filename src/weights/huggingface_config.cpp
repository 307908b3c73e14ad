#include "weights/huggingface_config.h"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <filesystem>
#include <utility>

#include "weights/config_check.h"
#include "weights/huggingface_tokenizer.h"
#include "weights/json_text.h"
#include "weights/model_card.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

using nlohmann::json;

constexpr std::size_t config_bytes_max = std::size_t{4} << 20;
constexpr double trained_seconds = 30.0;  // of every published MusicGen

template <class... Args>
tl::unexpected<Error> unsupported(const std::string& path, fmt::format_string<Args...> format, Args&&... args) {
  return fail(ErrorCode::unsupported, "{}: {}", path, fmt::format(format, std::forward<Args>(args)...));
}

/// One of the three sub-configs, which must be of the expected type.
Result<const json*> part_of(const json& config, const std::string& path, const char* name, std::string_view expected) {
  const auto found = config.find(name);
  if (found == config.end() || !found->is_object()) {
    return fail(ErrorCode::corrupt_file, "{}: there is no part '{}'; a MusicGen model has one", path, name);
  }
  std::string type(expected);
  JsonFields fields(*found, path + ": " + name);
  fields.get("model_type", type);
  CONTINUO_CHECK(fields.take());
  if (type != expected) {
    return unsupported(path, "the part '{}' is a '{}'; only '{}' is supported", name, printable(type), expected);
  }
  return &*found;
}

Result<Activation> activation_of(const std::string& path, const std::string& name) {
  if (name == "gelu") return Activation::gelu_erf;
  if (name == "gelu_new" || name == "gelu_pytorch_tanh" || name == "gelu_fast") return Activation::gelu_tanh;
  if (name == "relu") return Activation::relu;
  return unsupported(path, "the activation '{}' is not supported", printable(name));
}

Status read_decoder(const json& part, const std::string& path, DecoderConfig& decoder) {
  decoder.width = 1024;
  decoder.layers = 24;
  decoder.heads = 16;
  decoder.feed_forward = 4096;
  decoder.codebooks = 4;
  decoder.codebook_size = 2048;
  decoder.special_id = 2048;
  decoder.max_frames = 2048;
  std::string activation = "gelu";
  bool scaled = false;
  JsonFields fields(part, path + ": decoder");
  fields.get("hidden_size", decoder.width);
  fields.get("num_hidden_layers", decoder.layers);
  fields.get("num_attention_heads", decoder.heads);
  fields.get("ffn_dim", decoder.feed_forward);
  fields.get("num_codebooks", decoder.codebooks);
  fields.get("vocab_size", decoder.codebook_size);
  fields.get("pad_token_id", decoder.special_id);
  fields.get("max_position_embeddings", decoder.max_frames);
  fields.get("audio_channels", decoder.audio_channels);
  fields.get("activation_function", activation);
  fields.get("scale_embedding", scaled);
  CONTINUO_CHECK(fields.take());
  if (decoder.audio_channels != 1 && decoder.audio_channels != 2) {
    return unsupported(path, "the decoder has {} audio channels; mono and stereo are supported", decoder.audio_channels);
  }
  if (fields.has("cross_attention_hidden_size")) {
    return unsupported(path, "decoder.cross_attention_hidden_size is set, which is not supported");
  }
  CONTINUO_TRY(decoder.activation, activation_of(path, activation));
  decoder.embedding_scale = scaled ? std::sqrt(static_cast<float>(decoder.width)) : 1.0F;
  decoder.delays = default_delays(std::min(decoder.codebooks, 16), decoder.audio_channels);
  return {};
}

/// The chroma's spectrum stands with the feature extractor, in a file of its own or (transformers 5) in the processor's.
Status read_chroma(const std::string& folder, const CodecConfig& codec, MelodyConfig& melody) {
  std::string path = folder + "/preprocessor_config.json";
  auto found = read_json_object(path, config_bytes_max);
  if (!found && found.error().code == ErrorCode::not_found) {
    path = folder + "/processor_config.json";
    found = read_json_object(path, config_bytes_max);
    if (found) found = found->value("feature_extractor", json::object());
  }
  if (!found && found.error().code == ErrorCode::not_found) return {};
  if (!found) return forward_error(found.error());
  if (!found->is_object()) return fail(ErrorCode::corrupt_file, "{}: 'feature_extractor' is not an object", path);
  int bins = melody.bins, sample_rate = codec.sample_rate;
  JsonFields fields(*found, path);
  fields.get("n_fft", melody.n_fft);
  fields.get("hop_length", melody.hop);
  fields.get("num_chroma", bins);
  fields.get("sampling_rate", sample_rate);
  CONTINUO_CHECK(fields.take());
  if (bins == melody.bins && sample_rate == codec.sample_rate) return {};
  return fail(ErrorCode::corrupt_file, "{}: {} chroma bins at {} Hz do not belong to a model with {} at {} Hz", path, bins,
              sample_rate, melody.bins, codec.sample_rate);
}

Status read_melody(const json& top, const std::string& path, MelodyConfig& melody) {
  melody.bins = 12;
  JsonFields fields(top, path);
  fields.get("num_chroma", melody.bins);
  fields.get("chroma_length", melody.length);
  CONTINUO_CHECK(fields.take());
  if (melody.bins > 0) return {};
  return fail(ErrorCode::corrupt_file, "{}: num_chroma is {}; a melody model has at least 1", path, melody.bins);
}

Status read_codec(const json& part, const std::string& path, CodecConfig& codec) {
  codec = {.sample_rate = 24'000, .filters = 32, .width = 128, .ratios = {8, 5, 4, 2}};
  codec.codebook_size = 1024;
  codec.causal = true;
  codec.conv_shortcut = true;
  std::string norm = "weight_norm";
  std::string pad_mode = "reflect";
  int channels = 1;
  bool normalize = false;
  JsonFields fields(part, path + ": audio_encoder");
  fields.get("sampling_rate", codec.sample_rate);
  fields.get("audio_channels", channels);
  fields.get("normalize", normalize);
  fields.get("num_filters", codec.filters);
  fields.get("hidden_size", codec.width);
  fields.get("upsampling_ratios", codec.ratios);
  fields.get("norm_type", norm);
  fields.get("kernel_size", codec.kernel);
  fields.get("last_kernel_size", codec.last_kernel);
  fields.get("residual_kernel_size", codec.residual_kernel);
  fields.get("num_residual_layers", codec.residual_layers);
  fields.get("dilation_growth_rate", codec.dilation_growth);
  fields.get("use_causal_conv", codec.causal);
  fields.get("pad_mode", pad_mode);
  fields.get("compress", codec.compress);
  fields.get("num_lstm_layers", codec.lstm_layers);
  fields.get("trim_right_ratio", codec.trim_right_ratio);
  fields.get("codebook_size", codec.codebook_size);
  fields.get("use_conv_shortcut", codec.conv_shortcut);
  int codebook_width = codec.width;
  fields.get("codebook_dim", codebook_width);
  CONTINUO_CHECK(fields.take());
  if (channels != 1) return unsupported(path, "the codec has {} audio channels; only mono codecs are supported", channels);
  if (normalize) return unsupported(path, "the codec normalises its audio, which is not supported");
  if (fields.has("chunk_length_s")) return unsupported(path, "the codec works in chunks of audio, which is not supported");
  if (norm != "weight_norm")
    return unsupported(path, "the codec's norm_type is '{}'; only weight_norm is supported", printable(norm));
  if (codebook_width != codec.width) {
    return unsupported(path, "the codec's codebook_dim {} differs from its hidden_size {}, which is not supported",
                       codebook_width, codec.width);
  }
  if (pad_mode == "constant")
    codec.pad_mode = PadMode::constant;
  else if (pad_mode == "reflect")
    codec.pad_mode = PadMode::reflect;
  else if (pad_mode == "replicate")
    codec.pad_mode = PadMode::replicate;
  else
    return unsupported(path, "the codec's pad_mode '{}' is not supported", printable(pad_mode));
  return {};
}

Status read_defaults(const std::string& folder, GenerationDefaults& defaults) {
  const std::string path = folder + "/generation_config.json";
  auto config = read_json_object(path, config_bytes_max);
  if (!config && config.error().code == ErrorCode::not_found) return {};
  if (!config) return forward_error(config.error());
  JsonFields fields(*config, path);
  fields.get("guidance_scale", defaults.guidance);
  fields.get("temperature", defaults.temperature);
  fields.get("top_k", defaults.top_k);
  fields.get("top_p", defaults.top_p);
  if (defaults.top_p == 1.0F) defaults.top_p = 0.0F;  // transformers' way to say "off"; ours would replace top_k
  return fields.take();
}

/// "owner/name", as on the hub. Older files hold somebody's path in the same place, which must not travel on.
bool is_repository_name(std::string_view text) {
  const auto plain = [](unsigned char c) { return std::isalnum(c) != 0 || c == '-' || c == '_' || c == '.' || c == '/'; };
  const std::size_t slash = text.find('/');
  return slash != std::string_view::npos && slash > 0 && slash + 1 < text.size() &&
         text.find('/', slash + 1) == std::string_view::npos && text.front() != '.' && text.size() <= 200 &&
         std::all_of(text.begin(), text.end(), plain);
}

void read_names(const json& top, const std::string& folder, ModelConfig& config) {
  std::string published;
  JsonFields fields(top, "config.json");
  fields.get("_name_or_path", published);
  std::error_code ignored;
  const std::filesystem::path whole = std::filesystem::weakly_canonical(folder, ignored);
  config.name = printable(whole.filename().string());
  if (is_repository_name(published)) {
    config.source = published;
    config.name = published.substr(published.find('/') + 1);
  }
  if (config.name.empty()) config.name = "musicgen";
  config.license = read_license(folder);
}

/// True for a melody model.
Result<bool> read_model_type(const json& top, const std::string& path) {
  std::string type;
  JsonFields fields(top, path);
  fields.get("model_type", type);
  CONTINUO_CHECK(fields.take());
  if (type == "musicgen" || type == "musicgen_melody") return type == "musicgen_melody";
  if (type.empty())
    return fail(ErrorCode::unsupported, "{}: the file does not say what kind of model it is (no model_type)", path);
  return unsupported(path, "this is a '{}' model, not a MusicGen one", printable(type));
}

}  // namespace

Status read_t5_config(const json& part, const std::string& where, ModelConfig& config) {
  T5Config& text = config.text;
  text = {.width = 512, .layers = 6, .heads = 8, .head_width = 64, .feed_forward = 2048, .vocabulary = 32128};
  std::string projection = "relu";
  JsonFields fields(part, where);
  fields.get("d_model", text.width);
  fields.get("num_layers", text.layers);
  fields.get("num_heads", text.heads);
  fields.get("d_kv", text.head_width);
  fields.get("d_ff", text.feed_forward);
  fields.get("vocab_size", text.vocabulary);
  fields.get("relative_attention_num_buckets", text.relative_buckets);
  fields.get("relative_attention_max_distance", text.relative_max_distance);
  fields.get("layer_norm_epsilon", text.norm_epsilon);
  fields.get("feed_forward_proj", projection);
  fields.get("pad_token_id", config.tokenizer.pad_id);
  fields.get("eos_token_id", config.tokenizer.end_id);
  CONTINUO_CHECK(fields.take());
  text.gated = projection.starts_with("gated-");
  if (text.gated) projection.erase(0, 6);
  if (text.gated && projection == "gelu") projection = "gelu_new";  // T5Config: "for backwards compatibility"
  CONTINUO_TRY(text.activation, activation_of(where, projection));
  return {};
}

Result<ModelConfig> read_huggingface_config(const std::string& folder) {
  const std::string path = folder + "/config.json";
  CONTINUO_TRY(const json top, read_json_object(path, config_bytes_max));
  CONTINUO_TRY(const bool melody, read_model_type(top, path));
  CONTINUO_TRY(const json* text, part_of(top, path, "text_encoder", "t5"));
  CONTINUO_TRY(const json* codec, part_of(top, path, "audio_encoder", "encodec"));
  CONTINUO_TRY(const json* decoder, part_of(top, path, "decoder", melody ? "musicgen_melody_decoder" : "musicgen_decoder"));
  ModelConfig config;
  CONTINUO_CHECK(read_t5_config(*text, path + ": text_encoder", config));
  CONTINUO_CHECK(read_codec(*codec, path, config.codec));
  CONTINUO_CHECK(read_decoder(*decoder, path, config.decoder));
  if (melody) {
    CONTINUO_CHECK(read_melody(top, path, config.melody));
    CONTINUO_CHECK(read_chroma(folder, config.codec, config.melody));
  }
  CONTINUO_CHECK(read_defaults(folder, config.defaults));
  CONTINUO_CHECK(read_huggingface_tokenizer(folder, config.tokenizer));
  read_names(top, folder, config);
  // A codec may have more residual codebooks than the decoder predicts; the first ones are then all there is to use.
  config.codec.codebooks = config.decoder.codebooks / config.decoder.audio_channels;
  CONTINUO_CHECK(check_config(config, path));
  const auto frames = static_cast<int>(std::lround(trained_seconds * config.codec.frame_rate()));  // at most 30 x 192,000
  config.decoder.max_frames = std::clamp(frames, 1, config.decoder.max_frames);
  return config;
}

}  // namespace continuo::weights
