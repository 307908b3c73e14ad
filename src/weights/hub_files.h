// Which files of a hub's repository make a model. Names come from the server: only names that are known here are ever taken, so
// none can say where on this machine it wants to be written.
#pragma once

#include <vector>

#include "base/error.h"
#include "weights/download.h"

namespace continuo::weights {

inline constexpr const char* audiocraft_decoder = "state_dict.bin";

struct NeededFiles {
  std::vector<RemoteFile> about;    // small: configuration, tokenizer, licence
  std::vector<RemoteFile> weights;  // large, one format only
};

/// Weights as safetensors if there are such, else torch archives (each in one file or in numbered shards), else audiocraft's.
/// `where` begins the error when there are none.
Result<NeededFiles> needed_files(const std::vector<RemoteFile>& listed, const std::string& where);

/// Bytes of them all. Sizes are the server's words, so sums of them stop at the largest number instead of wrapping to a small
/// one.
std::uint64_t total_bytes(const std::vector<RemoteFile>& files);
std::uint64_t saturating_sum(std::uint64_t a, std::uint64_t b);

}  // namespace continuo::weights
