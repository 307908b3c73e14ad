// A GGUF file, opened by our own walk over its header.
//
// ggml's reader accepts files whose data is missing, whose dimensions are zero or wrap around, and whose lengths ask for a
// gigabyte; so nothing in this file is believed before it is checked, and nothing is allocated by a number that the
// file could not back with bytes. After open() every key is distinct UTF-8, every value lies inside the file, every tensor has
// 1 to 4 positive dimensions, a known type, and a range of its own inside the file. What the keys and tensors mean is
// for others to check (config_keys.h, open_model). Every refusal is one sentence: the file, the place, the reason.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/tensor.h"
#include "weights/gguf_types.h"

namespace continuo::weights {

namespace gguf_limits {
inline constexpr std::uint64_t keys = 4096;
inline constexpr std::uint64_t tensors = 65536;
inline constexpr std::uint64_t name_bytes = 256;           // of a key
inline constexpr std::uint64_t tensor_name_bytes = 63;     // ggml's GGML_MAX_NAME without its terminator
inline constexpr std::uint64_t string_bytes = 1U << 20;    // chat templates of other families are long
inline constexpr std::uint64_t array_elements = 1U << 24;  // a tokenizer's bytes; 16 Mi
inline constexpr std::uint64_t alignment_min = 8;
inline constexpr std::uint64_t alignment_max = 4096;
}  // namespace gguf_limits

/// A value as it stands in the file. `data` holds the scalar, the string's characters, or the array's elements, unaligned.
struct GgufValue {
  GgufType type = GgufType::u8;
  GgufType element = GgufType::u8;  // of an array
  std::uint64_t count = 0;          // of an array
  std::span<const std::byte> data;
};

struct GgufTensor {
  std::string name;
  std::uint32_t type_number = 0;
  GgmlType type{};
  Shape shape;  // row-major: the reverse of the file's order
  std::span<const std::byte> data;
};

class GgufFile {
 public:
  static Result<GgufFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, GgufValue, std::less<>>& keys() const { return keys_; }
  /// nullptr if there is no such key.
  const GgufValue* find(std::string_view key) const;
  const std::vector<GgufTensor>& tensors() const { return tensors_; }
  std::uint64_t size() const { return file_.bytes().size(); }
  /// Lets the system drop the pages of all tensors.
  void release_tensors() const;

 private:
  std::string path_;
  MappedFile file_;
  std::map<std::string, GgufValue, std::less<>> keys_;
  std::vector<GgufTensor> tensors_;
  std::size_t data_start_ = 0;
};

}  // namespace continuo::weights
