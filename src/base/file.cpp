#include "base/file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

namespace continuo {

namespace {

std::string reason() { return std::strerror(errno); }

ErrorCode code_for(int error) { return error == ENOENT ? ErrorCode::not_found : ErrorCode::io; }

}  // namespace

Result<MappedFile> MappedFile::open(const std::string& path) {
  const int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0) return fail(code_for(errno), "cannot open {}: {}", path, reason());
  struct stat info {};
  if (::fstat(descriptor, &info) != 0 || !S_ISREG(info.st_mode)) {
    ::close(descriptor);
    return fail(ErrorCode::io, "cannot read {}: it is not a regular file", path);
  }
  MappedFile file;
  file.size_ = static_cast<std::size_t>(info.st_size);
  if (file.size_ > 0) {
    void* data = ::mmap(nullptr, file.size_, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (data == MAP_FAILED) {
      const std::string why = reason();
      ::close(descriptor);
      file.size_ = 0;
      return fail(ErrorCode::io, "cannot map {}: {}", path, why);
    }
    file.data_ = static_cast<const std::byte*>(data);
  }
  ::close(descriptor);
  return file;
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)) {}

MappedFile& MappedFile::operator=(MappedFile&& other) noexcept {
  std::swap(data_, other.data_);
  std::swap(size_, other.size_);
  return *this;
}

MappedFile::~MappedFile() {
  if (data_ != nullptr) ::munmap(const_cast<std::byte*>(data_), size_);
}

void MappedFile::release(std::size_t offset, std::size_t length) const {
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = offset / page * page;
  if (data_ == nullptr || begin >= size_) return;
  const std::size_t end = std::min(size_, offset + length);
  ::madvise(const_cast<std::byte*>(data_ + begin), end - begin, MADV_DONTNEED);
}

Result<AtomicFile> AtomicFile::open(const std::string& path, Readers readers) {
  struct stat info {};
  if (path.empty()) return fail(ErrorCode::invalid_argument, "an output file needs a name");
  if (::stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode)) {
    return fail(ErrorCode::io, "cannot write {}: something that is not a regular file has that name", path);
  }
  std::string temporary = path + ".part-XXXXXX";
  const int descriptor = ::mkostemp(temporary.data(), O_CLOEXEC);
  if (descriptor < 0) return fail(ErrorCode::io, "cannot write {}: {}", path, reason());
  // mkstemp makes files private; give the result the mode an ordinary new file would have.
  if (readers == Readers::usual) {
    const mode_t mask = ::umask(0);
    ::umask(mask);
    ::fchmod(descriptor, 0666 & ~mask);
  }
  return AtomicFile(path, std::move(temporary), descriptor);
}

AtomicFile::AtomicFile(std::string path, std::string temporary, int descriptor)
    : path_(std::move(path)), temporary_(std::move(temporary)), descriptor_(descriptor) {}

AtomicFile::AtomicFile(AtomicFile&& other) noexcept
    : path_(std::move(other.path_)), temporary_(std::move(other.temporary_)), descriptor_(std::exchange(other.descriptor_, -1)) {}

AtomicFile& AtomicFile::operator=(AtomicFile&& other) noexcept {
  if (this != &other) {
    discard();
    path_ = std::move(other.path_);
    temporary_ = std::move(other.temporary_);
    descriptor_ = std::exchange(other.descriptor_, -1);
  }
  return *this;
}

AtomicFile::~AtomicFile() { discard(); }

void AtomicFile::discard() noexcept {
  if (descriptor_ < 0) return;
  ::close(descriptor_);
  ::unlink(temporary_.c_str());
  descriptor_ = -1;
}

Status AtomicFile::write(std::span<const std::byte> bytes) { return write(bytes.data(), bytes.size()); }

Status AtomicFile::write(const void* data, std::size_t size) {
  const auto* next = static_cast<const char*>(data);
  while (size > 0) {
    const ssize_t written = ::write(descriptor_, next, size);
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorCode::io, "cannot write {}: {}", path_, reason());
    next += written;
    size -= static_cast<std::size_t>(written);
  }
  return {};
}

Status AtomicFile::overwrite(std::int64_t offset, std::span<const std::byte> bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return fail(ErrorCode::io, "cannot write {}: {}", path_, reason());
    offset += written;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status AtomicFile::commit() {
  if (::fsync(descriptor_) != 0) return fail(ErrorCode::io, "cannot write {}: {}", path_, reason());
  if (::rename(temporary_.c_str(), path_.c_str()) != 0) {
    return fail(ErrorCode::io, "cannot put {} in place: {}", path_, reason());
  }
  ::close(std::exchange(descriptor_, -1));
  return {};
}

Result<std::string> read_text_file(const std::string& path, std::size_t limit) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  if (bytes.size() > limit) {
    return fail(ErrorCode::corrupt_file, "{} has {} bytes; at most {} are accepted for such a file", path, bytes.size(), limit);
  }
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

}  // namespace continuo
