// The file of a PromptIndex: header, space, entries, and the SHA-256 of all of it. Little endian, no padding:
//
//   8   "CNTPRIDX"
//   u32 version, kind of space, width, dimensions, number of entries, bytes of the encoder's name; the name
//   32  SHA-256 of the reference prompts that the space was fitted to
//   f32 mean [width], matrix [dimensions, width] if whitened
//   for each entry, oldest first: u32 bytes of the prompt, the prompt, f32 [dimensions]
//   32  SHA-256 of everything before it
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"
#include "library/fingerprint_space.h"

namespace continuo::library {

struct IndexFile {
  std::string encoder;
  FingerprintSpace space;
  std::vector<std::string> prompts;
  std::vector<float> vectors;  // [prompts, dimensions], each of length 1
};

inline constexpr std::size_t max_indexed_prompt_bytes = 20'000;
inline constexpr std::size_t max_encoder_bytes = 200;

/// Errors: a name of the encoder that is too long.
Result<std::vector<std::byte>> encode_index(const IndexFile& file);
/// Any bytes; everything is checked before it is believed. `name` stands for the file in messages.
Result<IndexFile> decode_index(std::span<const std::byte> bytes, const std::string& name);
/// The same of the bytes before the checksum, which decode_index() has compared.
Result<IndexFile> decode_index_content(std::span<const std::byte> content, const std::string& name);

}  // namespace continuo::library
