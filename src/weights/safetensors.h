// A safetensors file: an 8-byte length, a JSON header of names, types, shapes and byte ranges, then the bytes.
//
// After open() the header is at most 100 MB and inside the file, names are distinct, every range lies inside the file, is as
// long as its type and shape say, and overlaps no other. Values are read as float from F32, F16 and BF16; other types may
// stand in the file (counters, flags) and are refused only when somebody reads them. Format: safetensors' README.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/file.h"

namespace continuo::weights {

struct SafetensorsEntry {
  std::string dtype;                // "F32"
  std::vector<std::int64_t> shape;  // row-major; empty for a scalar
  std::uint64_t begin = 0;          // in the data
  std::uint64_t end = 0;

  std::int64_t elements() const;  // was checked not to overflow
};

class SafetensorsFile {
 public:
  static Result<SafetensorsFile> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, SafetensorsEntry, std::less<>>& entries() const { return entries_; }

  using Sink = std::function<Status(std::span<const float>)>;
  /// Hands the tensor's values to `sink` in order, in pieces of at most a few megabytes, and drops the pages that were
  /// read from memory. `name` is in entries().
  Status stream(std::string_view name, const Sink& sink) const;
  /// The same for `count` values from the `first` on; the range lies inside the tensor.
  Status stream(std::string_view name, std::uint64_t first, std::uint64_t count, const Sink& sink) const;
  /// The whole tensor.
  Result<std::vector<float>> read(std::string_view name) const;

 private:
  std::string path_;
  MappedFile file_;
  std::map<std::string, SafetensorsEntry, std::less<>> entries_;
  std::size_t data_start_ = 0;
};

}  // namespace continuo::weights
