#include "weights/folder_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

constexpr int attempts = 100;

std::string lock_path(const std::string& folder) { return folder + "/lock"; }

/// False if the file that was locked has been removed meanwhile, by the process that held it before.
bool is_still_there(int descriptor, const std::string& path) {
  struct stat locked {};
  struct stat named {};
  return ::fstat(descriptor, &locked) == 0 && ::stat(path.c_str(), &named) == 0 && locked.st_ino == named.st_ino &&
         locked.st_dev == named.st_dev;
}

}  // namespace

Result<std::optional<FolderLock>> FolderLock::take(const std::string& folder) {
  const std::string path = lock_path(folder);
  for (int i = 0; i < attempts; ++i) {
    std::error_code error;
    fs::create_directories(folder, error);
    if (error) return fail(ErrorCode::io, "cannot make the folder {}: {}", folder, error.message());
    const int descriptor = ::open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (descriptor < 0 && errno == ENOENT) continue;  // the folder went away in between
    if (descriptor < 0) return fail(ErrorCode::io, "cannot write {}: {}", path, std::strerror(errno));
    if (::flock(descriptor, LOCK_EX | LOCK_NB) != 0) {
      const int why = errno;
      ::close(descriptor);
      if (why == EWOULDBLOCK) return std::nullopt;
      return fail(ErrorCode::io, "cannot lock {}: {}", path, std::strerror(why));
    }
    if (is_still_there(descriptor, path)) return std::optional<FolderLock>(FolderLock(folder, descriptor));
    ::close(descriptor);
  }
  return std::nullopt;
}

FolderLock::FolderLock(FolderLock&& other) noexcept
    : folder_(std::move(other.folder_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

FolderLock::~FolderLock() {
  if (descriptor_ < 0) return;
  // While it is still held: whoever opened the file in between notices that it is gone (is_still_there).
  ::unlink(lock_path(folder_).c_str());
  ::rmdir(folder_.c_str());
  ::close(descriptor_);
}

Status FolderLock::clear() const {
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(folder_, error)) {
    std::error_code removal;
    if (entry.path() != lock_path(folder_)) fs::remove_all(entry.path(), removal);
    if (removal) return fail(ErrorCode::io, "cannot remove {}: {}", entry.path().string(), removal.message());
  }
  if (error) return fail(ErrorCode::io, "cannot read the folder {}: {}", folder_, error.message());
  return {};
}

}  // namespace continuo::weights
