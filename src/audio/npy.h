// NPY files (numpy's own format, versions 1 and 2): how codes and hidden states are exchanged with other programs.
// Read: int64, int32 (widened) and float32, little endian, C order, at most 4 dimensions; the header is parsed as the small piece
// of Python that it is, and its shape must account for every byte of the file. Written: version 1, int64 and float32.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/error.h"

namespace continuo::audio {

struct NpyArray {
  std::vector<std::int64_t> shape;  // slowest dimension first; empty for a single value
  std::variant<std::vector<std::int64_t>, std::vector<float>> values;

  bool is_integer() const { return values.index() == 0; }
};

/// `name` stands for the file in messages.
Result<NpyArray> decode_npy(std::span<const std::byte> bytes, const std::string& name);
Result<NpyArray> read_npy(const std::string& path);

/// The product of `shape` is values.size().
std::vector<std::byte> encode_npy(std::span<const std::int64_t> shape, std::span<const std::int64_t> values);
std::vector<std::byte> encode_npy(std::span<const std::int64_t> shape, std::span<const float> values);

Status write_npy(const std::string& path, std::span<const std::int64_t> shape, std::span<const std::int64_t> values);
Status write_npy(const std::string& path, std::span<const std::int64_t> shape, std::span<const float> values);

}  // namespace continuo::audio
