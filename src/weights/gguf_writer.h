// Writes a GGUF file front to back: keys and tensor shapes first, then the tensors' data in the order they were announced, in
// pieces of any size. The header is made by ggml (so it is what ggml reads); the data never lies in memory as a whole.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/file.h"
#include "base/tensor.h"

namespace continuo::weights {

class GgufWriter {
 public:
  GgufWriter();
  GgufWriter(GgufWriter&&) noexcept;
  GgufWriter& operator=(GgufWriter&&) noexcept;
  ~GgufWriter();

  // Strings hold no NUL characters. A key set twice keeps its last value.
  void set(const char* key, std::uint32_t value);
  void set(const char* key, float value);
  void set(const char* key, bool value);
  void set(const char* key, const std::string& value);
  void set(const char* key, const std::vector<int>& values);  // i32[]
  void set_bytes(const char* key, const std::string& bytes);  // u8[]

  /// Announces a tensor. Names are distinct and at most 63 bytes; rows are whole blocks.
  Status add_tensor(const std::string& name, DType type, const Shape& shape);

  /// Writes the header. After it come only write_data() and finish().
  Status begin(AtomicFile& file);
  /// The next bytes of the data; they may not cross the end of a tensor.
  Status write_data(AtomicFile& file, std::span<const std::byte> bytes);
  /// Says so if data is missing. Does not commit the file.
  Status finish();

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace continuo::weights
