#include "weights/config_keys.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <set>
#include <string>
#include <string_view>

#include "weights/byte_cursor.h"
#include "weights/config_check.h"
#include "weights/config_names.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

/// Bytes rather than text: an array of u8.
template <class String>
struct Blob {
  String& bytes;
};
template <class String>
Blob(String&) -> Blob<String>;

/// The one list of keys. Config is ModelConfig to read and const ModelConfig to write.
template <class Config, class Visitor>
void visit_keys(Config& config, Visitor& visit) {
  visit("general.name", config.name);
  visit("general.description", config.description);
  visit("general.license", config.license);
  visit("general.source", config.source);

  auto& decoder = config.decoder;
  visit("musicgen.embedding_length", decoder.width);
  visit("musicgen.block_count", decoder.layers);
  visit("musicgen.attention.head_count", decoder.heads);
  visit("musicgen.attention.layer_norm_epsilon", decoder.norm_epsilon);
  visit("musicgen.feed_forward_length", decoder.feed_forward);
  visit("musicgen.activation", decoder.activation);
  visit("musicgen.embedding_scale", decoder.embedding_scale);
  visit("musicgen.codebook_count", decoder.codebooks);
  visit("musicgen.codebook_size", decoder.codebook_size);
  visit("musicgen.special_id", decoder.special_id);
  visit("musicgen.delays", decoder.delays);
  visit("musicgen.max_frames", decoder.max_frames);
  visit("musicgen.audio_channels", decoder.audio_channels);

  auto& codec = config.codec;
  visit("codec.sample_rate", codec.sample_rate);
  visit("codec.ratios", codec.ratios);
  visit("codec.filters", codec.filters);
  visit("codec.width", codec.width);
  visit("codec.kernel", codec.kernel);
  visit("codec.last_kernel", codec.last_kernel);
  visit("codec.residual_kernel", codec.residual_kernel);
  visit("codec.residual_layers", codec.residual_layers);
  visit("codec.dilation_growth", codec.dilation_growth);
  visit("codec.compress", codec.compress);
  visit("codec.lstm_layers", codec.lstm_layers);
  visit("codec.codebook_count", codec.codebooks);
  visit("codec.codebook_size", codec.codebook_size);
  visit("codec.causal", codec.causal);
  visit("codec.conv_shortcut", codec.conv_shortcut);
  visit("codec.pad_mode", codec.pad_mode);
  visit("codec.trim_right_ratio", codec.trim_right_ratio);

  auto& text = config.text;
  visit("text.embedding_length", text.width);
  visit("text.block_count", text.layers);
  visit("text.head_count", text.heads);
  visit("text.head_length", text.head_width);
  visit("text.feed_forward_length", text.feed_forward);
  visit("text.vocabulary", text.vocabulary);
  visit("text.relative_buckets", text.relative_buckets);
  visit("text.relative_max_distance", text.relative_max_distance);
  visit("text.gated", text.gated);
  visit("text.activation", text.activation);
  visit("text.layer_norm_epsilon", text.norm_epsilon);

  visit("tokenizer.model", Blob{config.tokenizer.model_proto});
  visit("tokenizer.pad_id", config.tokenizer.pad_id);
  visit("tokenizer.end_id", config.tokenizer.end_id);
  visit("tokenizer.unknown_id", config.tokenizer.unknown_id);

  visit("generation.guidance", config.defaults.guidance);
  visit("generation.temperature", config.defaults.temperature);
  visit("generation.top_p", config.defaults.top_p);
  visit("generation.top_k", config.defaults.top_k);
}

/// The keys that only melody models have.
template <class Config, class Visitor>
void visit_melody_keys(Config& config, Visitor& visit) {
  visit("musicgen.chroma_bins", config.melody.bins);
  visit("musicgen.chroma_length", config.melody.length);
  visit("musicgen.chroma_n_fft", config.melody.n_fft);
  visit("musicgen.chroma_hop", config.melody.hop);
}

constexpr const char* conditioning_key = "musicgen.conditioning";
constexpr const char* projection_key = "musicgen.projection";  // of text and chroma

class KeyWriter {
 public:
  explicit KeyWriter(GgufWriter& writer) : writer_(writer) {}

  void operator()(const char* key, int value) { writer_.set(key, static_cast<std::uint32_t>(value)); }
  void operator()(const char* key, float value) { writer_.set(key, value); }
  void operator()(const char* key, bool value) { writer_.set(key, value); }
  void operator()(const char* key, const std::string& value) { writer_.set(key, value); }
  void operator()(const char* key, const std::vector<int>& values) { writer_.set(key, values); }
  void operator()(const char* key, Activation value) { writer_.set(key, std::string(name_of(value))); }
  void operator()(const char* key, PadMode value) { writer_.set(key, std::string(name_of(value))); }
  void operator()(const char* key, Blob<const std::string> blob) { writer_.set_bytes(key, blob.bytes); }

 private:
  GgufWriter& writer_;
};

/// Reads key after key and keeps the first complaint.
class KeyReader {
 public:
  explicit KeyReader(const GgufFile& file) : file_(file) {}

  void operator()(const char* key, int& value) {
    if (const auto* found = scalar(key, GgufType::u32)) {
      const std::uint32_t number = *ByteCursor(found->data).number<std::uint32_t>();
      // What does not fit an int is out of every range below, so the cap keeps the message true enough.
      value = static_cast<int>(std::min<std::uint32_t>(number, std::numeric_limits<int>::max()));
    }
  }
  void operator()(const char* key, float& value) {
    if (const auto* found = scalar(key, GgufType::f32)) value = *ByteCursor(found->data).number<float>();
  }
  void operator()(const char* key, bool& value) {
    if (const auto* found = scalar(key, GgufType::boolean)) value = found->data[0] != std::byte{0};
  }
  void operator()(const char* key, std::string& value) {
    if (const auto* found = scalar(key, GgufType::string)) value = text_of(*found);
  }
  void operator()(const char* key, std::vector<int>& values) {
    const auto* found = array(key, GgufType::i32);
    if (found == nullptr) return;
    if (found->count > 64) {
      complain("key '{}' has {} elements; at most 64 are accepted", key, found->count);
      return;
    }
    values.resize(static_cast<std::size_t>(found->count));
    if (!values.empty()) std::memcpy(values.data(), found->data.data(), found->data.size());
  }
  void operator()(const char* key, Activation& value) { word(key, value, activation_from_name); }
  void operator()(const char* key, PadMode& value) { word(key, value, pad_mode_from_name); }
  void operator()(const char* key, Blob<std::string> blob) {
    if (const auto* found = array(key, GgufType::u8)) blob.bytes = text_of(*found);
  }

  /// What stands in an optional key, or `absent`. Anything but that and `other` is a complaint.
  std::string choice(const char* key, const char* absent, std::string_view other) {
    known_.insert(key);
    std::string word = absent;
    if (file_.find(key) == nullptr) return word;
    (*this)(key, word);
    if (word != absent && word != other) complain("key '{}' is '{}', which this version does not know", key, printable(word));
    return word;
  }

  const std::set<std::string_view>& known() const { return known_; }
  Status take() { return std::move(status_); }

  const GgufValue* scalar(const char* key, GgufType type) {
    const GgufValue* found = require(key);
    if (found == nullptr || found->type == type) return found;
    complain("key '{}' has type {}, not {}", key, name_of(found->type), name_of(type));
    return nullptr;
  }
  static std::string_view text_of(const GgufValue& value) {
    return {reinterpret_cast<const char*>(value.data.data()), value.data.size()};
  }

 private:
  const GgufValue* require(const char* key) {
    known_.insert(key);
    const GgufValue* found = file_.find(key);
    if (found == nullptr) complain("key '{}' is missing", key);
    return found;
  }
  const GgufValue* array(const char* key, GgufType element) {
    const GgufValue* found = scalar(key, GgufType::array);
    if (found == nullptr || found->element == element) return found;
    complain("key '{}' is an array of {}, not of {}", key, name_of(found->element), name_of(element));
    return nullptr;
  }
  template <class Value, class Parse>
  void word(const char* key, Value& value, Parse parse) {
    std::string text;
    (*this)(key, text);
    if (!status_) return;
    const auto parsed = parse(text);
    if (!parsed)
      complain("key '{}' is '{}', which this version does not know", key, printable(text));
    else
      value = *parsed;
  }
  template <class... Args>
  void complain(fmt::format_string<Args...> format, Args&&... args) {
    if (status_) {
      status_ = fail(ErrorCode::corrupt_file, "{}: {}", file_.path(), fmt::format(format, std::forward<Args>(args)...));
    }
  }

  const GgufFile& file_;
  std::set<std::string_view> known_;
  Status status_;
};

constexpr std::array<std::string_view, 6> own_prefixes = {"continuo.", "musicgen.",  "codec.",
                                                          "text.",     "tokenizer.", "generation."};

Status refuse_unknown_keys(const GgufFile& file, const std::set<std::string_view>& known) {
  for (const auto& [key, value] : file.keys()) {
    const auto ours = [&key = key](std::string_view prefix) { return key.starts_with(prefix); };
    if (std::any_of(own_prefixes.begin(), own_prefixes.end(), ours) && !known.contains(key)) {
      return fail(ErrorCode::unsupported, "{}: key '{}' is not one that this version knows", file.path(), printable(key));
    }
  }
  return {};
}

Status check_family(const GgufFile& file) {
  const GgufValue* architecture = file.find("general.architecture");
  if (architecture == nullptr || architecture->type != GgufType::string) {
    return fail(ErrorCode::corrupt_file, "{}: the file does not say what kind of model it is (no general.architecture)",
                file.path());
  }
  const std::string_view family = KeyReader::text_of(*architecture);
  if (family != "musicgen") {
    return fail(ErrorCode::unsupported, "{} is a '{}' model, not a MusicGen one", file.path(), printable(family));
  }
  return {};
}

}  // namespace

Result<ModelConfig> read_config(const GgufFile& file) {
  CONTINUO_CHECK(check_family(file));
  KeyReader reader(file);
  const GgufValue* version = reader.scalar("continuo.format_version", GgufType::u32);
  if (version == nullptr) return forward_error(reader.take().error());
  const std::uint32_t number = *ByteCursor(version->data).number<std::uint32_t>();
  if (number != format_version) {
    return fail(ErrorCode::unsupported, "{}: the file has format version {}; this version reads {}: convert the model again",
                file.path(), number, format_version);
  }
  ModelConfig config;
  visit_keys(config, reader);
  const bool melody = reader.choice(conditioning_key, "cross", "prefix") == "prefix";
  if (melody) visit_melody_keys(config, reader);
  config.always_projects = reader.choice(projection_key, "by-width", "always") == "always";
  CONTINUO_CHECK(reader.take());
  if (melody && !config.is_melody()) return fail(ErrorCode::corrupt_file, "{}: musicgen.chroma_bins is 0", file.path());
  CONTINUO_CHECK(refuse_unknown_keys(file, reader.known()));
  CONTINUO_CHECK(check_config(config, file.path()));
  return config;
}

void write_config(const ModelConfig& config, GgufWriter& writer) {
  writer.set("general.architecture", std::string("musicgen"));
  writer.set("continuo.format_version", format_version);
  KeyWriter visit(writer);
  visit_keys(config, visit);
  if (config.always_projects) writer.set(projection_key, std::string("always"));
  if (!config.is_melody()) return;
  writer.set(conditioning_key, std::string("prefix"));
  visit_melody_keys(config, visit);
}

}  // namespace continuo::weights
