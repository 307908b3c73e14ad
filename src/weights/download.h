// One file from the net to the disk: resumed where an earlier try stopped, checked against its announced size and hash.
//
// While it arrives it is called NAME.part; only what has the right hash gets its name, so a file with its own name is good. What
// is wrong is removed. What is merely unfinished (a broken connection, Ctrl-C, a full disk) is kept and continued.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/error.h"
#include "weights/http.h"
#include "weights/retry.h"

namespace continuo::weights {

struct RemoteFile {
  std::string name;
  std::uint64_t size = 0;
  std::string sha256;    // one of the two is known; hexadecimal
  std::string git_blob;  // SHA-1 as git names a file
};

struct DownloadOptions {
  RetryPolicy retry;
  std::function<bool()> cancelled;
  /// Bytes of this file that are there; `checking`: that have been hashed.
  std::function<void(std::uint64_t bytes, bool checking)> progress;
};

/// Bytes of the file that are in `folder`, finished or not.
std::uint64_t bytes_there(const RemoteFile& file, const std::string& folder);

/// A reply that is not a success (after the tries that may mend it) is handed back for the caller to explain.
Result<HttpReply> download(Http& http, const std::string& url, const RemoteFile& file, const std::string& folder,
                           const DownloadOptions& options);

}  // namespace continuo::weights
