// Hashes of files, by libcrypto: what a hub announces and a download is held against.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"

namespace continuo::weights {

/// git_blob is SHA-1 over "blob SIZE\0" and the content, the name under which git keeps a file.
enum class Digest { sha256, git_blob };

/// Asked between pieces with the bytes read so far; false stops the work with ErrorCode::cancelled.
using DigestProgress = std::function<bool(std::uint64_t bytes)>;

/// Lower-case hexadecimal.
Result<std::string> file_digest(const std::string& path, Digest digest, const DigestProgress& go_on = {});

}  // namespace continuo::weights
