// What the tests of this layer share: a temporary folder, builders of GGUF and safetensors bytes that write whatever they
// are told, right or wrong, and a MusicGen small enough to read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "weights/model_config.h"

namespace continuo::weights::testing {

/// A folder of its own, removed at the end.
class TemporaryFolder {
 public:
  TemporaryFolder();
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  ~TemporaryFolder();

  std::string path(std::string_view name = "") const { return (path_ / name).string(); }
  /// Writes a file into the folder and returns its path.
  std::string write(std::string_view name, std::string_view bytes) const;

 private:
  std::filesystem::path path_;
};

void write_file(const std::string& path, std::string_view bytes);
std::string read_file(const std::string& path);
/// In the repository.
std::string source_path(std::string_view name);

template <class T>
std::string raw(T value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof(T));
}

/// The pieces of a GGUF header as bytes.
std::string gguf_string(std::string_view text);
std::string gguf_key(std::string_view name, std::uint32_t type, std::string_view value);
std::string gguf_tensor(std::string_view name, const std::vector<std::int64_t>& dims, std::uint32_t type, std::uint64_t offset);

/// A good small file until somebody changes a part of it.
struct GgufBytes {
  std::string magic = "GGUF";
  std::uint32_t version = 3;
  std::optional<std::uint64_t> tensor_count;  // instead of the true one
  std::optional<std::uint64_t> key_count;
  std::vector<std::string> keys;
  std::vector<std::string> tensors;
  std::size_t alignment = 32;
  std::string data;

  GgufBytes();
  std::string bytes() const;
};

/// A safetensors file of this header.
std::string safetensors_bytes(std::string_view header, std::string_view data);

/// Tensors of floats as they become a safetensors file.
struct Floats {
  std::vector<std::int64_t> shape;
  std::vector<float> values;
  std::string dtype = "F32";  // or I64, BF16, F16: the values are converted
};
using Tensors = std::map<std::string, Floats>;
std::string safetensors_of(const Tensors& tensors);

/// A serialised SentencePiece model of that many pieces: pad, end, unknown, letters.
std::string spiece_of(int pieces);

/// A MusicGen of a few thousand weights that passes check_config.
ModelConfig small_config();

/// The same for two channels, as a melody model, and with rows long enough for blocks (of 32; some of 256).
ModelConfig small_stereo_config();
ModelConfig small_melody_config();
ModelConfig small_wide_config();

/// A config as a Hugging Face folder, which a test may change before it is written.
struct SmallCheckpoint {
  nlohmann::json config;
  Tensors tensors;
  std::string spiece;

  explicit SmallCheckpoint(const ModelConfig& expected = small_config());
  void write(const std::string& folder) const;
};

}  // namespace continuo::weights::testing
