// One process at a time in a folder: flock on a file in it, which the kernel lets go of however the process ends. An orderly end
// also removes that file, and the folder if nothing else is in it.
#pragma once

#include <optional>
#include <string>

#include "base/error.h"

namespace continuo::weights {

class FolderLock {
 public:
  /// Makes the folder if need be. Does not wait: nullopt when another process holds it.
  static Result<std::optional<FolderLock>> take(const std::string& folder);
  FolderLock(FolderLock&& other) noexcept;
  FolderLock& operator=(FolderLock&&) = delete;
  ~FolderLock();

  /// Removes what is in the folder.
  Status clear() const;

 private:
  FolderLock(std::string folder, int descriptor) : folder_(std::move(folder)), descriptor_(descriptor) {}
  std::string folder_;
  int descriptor_ = -1;
};

}  // namespace continuo::weights
