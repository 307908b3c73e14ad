// Files the safe way: mapped for reading, and written so that they appear complete or not at all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/error.h"

namespace continuo {

/// A read-only memory map of a whole file. The bytes stay valid as long as the object (moving keeps them).
class MappedFile {
 public:
  static Result<MappedFile> open(const std::string& path);
  MappedFile() = default;
  MappedFile(MappedFile&& other) noexcept;
  MappedFile& operator=(MappedFile&& other) noexcept;
  ~MappedFile();

  std::span<const std::byte> bytes() const { return {data_, size_}; }
  /// Lets the system drop the pages of this range from memory; they are read again from disk if touched.
  void release(std::size_t offset, std::size_t length) const;

 private:
  const std::byte* data_ = nullptr;
  std::size_t size_ = 0;
};

/// Who may read a new file: whom the process's umask lets, or its owner alone.
enum class Readers { usual, owner };

/// Writes to a temporary file beside the target and renames it over the target on commit(). Without commit the
/// target is untouched and the temporary file is removed. open() finds an unwritable place before any work is done.
class AtomicFile {
 public:
  static Result<AtomicFile> open(const std::string& path, Readers readers = Readers::usual);
  AtomicFile(AtomicFile&& other) noexcept;
  AtomicFile& operator=(AtomicFile&& other) noexcept;
  ~AtomicFile();

  Status write(std::span<const std::byte> bytes);
  Status write(const void* data, std::size_t size);
  /// Over what was written before; the next write() still goes to the end.
  Status overwrite(std::int64_t offset, std::span<const std::byte> bytes);
  /// Flushes to the disk, then renames.
  Status commit();
  const std::string& path() const { return path_; }

 private:
  AtomicFile(std::string path, std::string temporary, int descriptor);
  void discard() noexcept;

  std::string path_;
  std::string temporary_;
  int descriptor_ = -1;
};

/// The whole file as text; refuses more than `limit` bytes.
Result<std::string> read_text_file(const std::string& path, std::size_t limit);

}  // namespace continuo
