#include "weights/fixtures_test.h"

#include <unistd.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <stdexcept>

#include "base/half.h"
#include "weights/huggingface_names.h"
#include "weights/musicgen_layout.h"

namespace continuo::weights::testing {

namespace fs = std::filesystem;
using nlohmann::json;

TemporaryFolder::TemporaryFolder() {
  std::string pattern = (fs::temp_directory_path() / "continuo-weights-XXXXXX").string();
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("no temporary folder");
  path_ = pattern;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

std::string TemporaryFolder::write(std::string_view name, std::string_view bytes) const {
  write_file(path(name), bytes);
  return path(name);
}

void write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

std::string read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string source_path(std::string_view name) { return std::string(CONTINUO_SOURCE_DIR "/") + std::string(name); }

std::string gguf_string(std::string_view text) { return raw<std::uint64_t>(text.size()) + std::string(text); }

std::string gguf_key(std::string_view name, std::uint32_t type, std::string_view value) {
  return gguf_string(name) + raw(type) + std::string(value);
}

std::string gguf_tensor(std::string_view name, const std::vector<std::int64_t>& dims, std::uint32_t type, std::uint64_t offset) {
  std::string bytes = gguf_string(name) + raw(static_cast<std::uint32_t>(dims.size()));
  for (const std::int64_t size : dims) bytes += raw(size);
  return bytes + raw(type) + raw(offset);
}

GgufBytes::GgufBytes()
    : keys{gguf_key("general.architecture", 8, gguf_string("musicgen")), gguf_key("a.number", 4, raw<std::uint32_t>(7))},
      tensors{gguf_tensor("first", {3, 2}, 0, 0), gguf_tensor("second", {32}, 8, 32)},
      data(32 + 34, '\x11') {}

std::string GgufBytes::bytes() const {
  std::string all = magic + raw(version) + raw<std::uint64_t>(tensor_count.value_or(tensors.size())) +
                    raw<std::uint64_t>(key_count.value_or(keys.size()));
  for (const std::string& key : keys) all += key;
  for (const std::string& tensor : tensors) all += tensor;
  all.resize((all.size() + alignment - 1) / alignment * alignment, '\0');
  return all + data;
}

std::string safetensors_bytes(std::string_view header, std::string_view data) {
  return raw<std::uint64_t>(header.size()) + std::string(header) + std::string(data);
}

std::string safetensors_of(const Tensors& tensors) {
  json header = json::object();
  header["__metadata__"] = {{"format", "pt"}};
  std::string data;
  for (const auto& [name, tensor] : tensors) {
    const std::size_t begin = data.size();
    for (const float value : tensor.values) {
      if (tensor.dtype == "F32")
        data += raw(value);
      else if (tensor.dtype == "F16")
        data += raw(float_to_half(value));
      else if (tensor.dtype == "BF16")
        data += raw(float_to_bfloat(value));
      else
        data += raw(static_cast<std::int64_t>(value));
    }
    header[name] = {{"dtype", tensor.dtype}, {"shape", tensor.shape}, {"data_offsets", {begin, data.size()}}};
  }
  return safetensors_bytes(header.dump(), data);
}

std::string spiece_of(int pieces) {
  std::string proto;
  for (int i = 0; i < pieces; ++i) {
    const std::string text = i == 0 ? "<pad>" : i == 1 ? "</s>" : i == 2 ? "<unk>" : std::string(1, static_cast<char>('a' + i));
    std::string piece = "\x0A" + std::string(1, static_cast<char>(text.size())) + text;
    piece += "\x15" + raw(-1.0F);                                           // score
    piece += "\x18" + std::string(1, i < 2 ? '\3' : i == 2 ? '\2' : '\1');  // control, unknown or normal
    proto += "\x0A" + std::string(1, static_cast<char>(piece.size())) + piece;
  }
  return proto;
}

ModelConfig small_config() {
  ModelConfig config;
  config.name = "small";
  config.license = "MIT";
  config.text = {.width = 6, .layers = 2, .heads = 2, .head_width = 3, .feed_forward = 8, .vocabulary = 12};
  config.decoder.width = 8;
  config.decoder.layers = 2;
  config.decoder.heads = 2;
  config.decoder.feed_forward = 12;
  config.decoder.codebooks = 2;
  config.decoder.codebook_size = 4;
  config.decoder.special_id = 4;
  config.decoder.delays = {0, 1};
  config.codec = {.sample_rate = 1000, .filters = 2, .width = 3, .ratios = {3, 2}};
  config.codec.codebooks = 2;
  config.codec.codebook_size = 4;
  config.tokenizer.model_proto = spiece_of(10);
  return config;
}

ModelConfig small_stereo_config() {
  ModelConfig config = small_config();
  config.decoder.audio_channels = 2;
  config.decoder.codebooks = 4;
  config.decoder.delays = {0, 0, 1, 1};
  return config;
}

ModelConfig small_melody_config() {
  ModelConfig config = small_config();
  config.melody = {.bins = 12, .length = 5, .n_fft = 64, .hop = 16};
  return config;
}

ModelConfig small_wide_config() {
  ModelConfig config = small_config();
  config.text.width = 32;
  config.text.head_width = 128;
  config.text.feed_forward = 96;
  config.text.layers = 1;
  config.decoder.width = 256;
  config.decoder.feed_forward = 288;
  config.decoder.layers = 1;
  return config;
}

SmallCheckpoint::SmallCheckpoint(const ModelConfig& expected) : spiece(spiece_of(10)) {
  const T5Config& text = expected.text;
  const DecoderConfig& decoder = expected.decoder;
  const std::string family = expected.is_melody() ? "musicgen_melody" : "musicgen";
  config = {{"model_type", family},
            {"text_encoder",
             {{"model_type", "t5"},
              {"d_model", text.width},
              {"d_kv", text.head_width},
              {"d_ff", text.feed_forward},
              {"num_layers", text.layers},
              {"num_heads", text.heads},
              {"vocab_size", text.vocabulary}}},
            {"audio_encoder",
             {{"model_type", "encodec"},
              {"sampling_rate", expected.codec.sample_rate},
              {"num_filters", expected.codec.filters},
              {"hidden_size", expected.codec.width},
              {"upsampling_ratios", expected.codec.ratios},
              {"use_causal_conv", false},
              {"codebook_size", expected.codec.codebook_size},
              {"use_conv_shortcut", false},
              {"chunk_length_s", nullptr}}},
            {"decoder",
             {{"model_type", family + "_decoder"},
              {"hidden_size", decoder.width},
              {"num_hidden_layers", decoder.layers},
              {"num_attention_heads", decoder.heads},
              {"ffn_dim", decoder.feed_forward},
              {"num_codebooks", decoder.codebooks},
              {"audio_channels", decoder.audio_channels},
              {"vocab_size", decoder.codebook_size},
              {"pad_token_id", decoder.special_id}}}};
  if (expected.is_melody()) config["chroma_length"] = expected.melody.length;
  const auto names = huggingface_names(expected);
  float next = 0.25F;
  const auto fill = [&next](const std::vector<std::int64_t>& shape) {
    Floats tensor{shape, {}};
    std::int64_t count = 1;
    for (const std::int64_t size : shape) count *= size;
    for (std::int64_t i = 0; i < count; ++i) tensor.values.push_back(next = next > 1.0F ? next - 1.99F : next + 0.37F);
    return tensor;
  };
  for (const TensorSpec& spec : musicgen_layout(expected)) {
    const SourceTensor& source = names.at(spec.name);
    const std::vector<std::int64_t> shape(spec.shape.dims.begin(), spec.shape.dims.begin() + spec.shape.rank);
    if (source.weight_norm) {
      tensors[source.name + ".weight_v"] = fill(shape);
      tensors[source.name + ".weight_g"] = fill({shape[0], 1, 1});
    } else {
      tensors[source.name] = fill(shape);
    }
  }
}

void SmallCheckpoint::write(const std::string& folder) const {
  fs::create_directories(folder);
  write_file(folder + "/config.json", config.dump());
  write_file(folder + "/spiece.model", spiece);
  write_file(folder + "/model.safetensors", safetensors_of(tensors));
}

}  // namespace continuo::weights::testing
