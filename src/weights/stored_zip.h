// A zip archive whose entries are stored as they are, read through libzip.
//
// After open() libzip has found its directory consistent with the entries, no entry is compressed or encrypted, names occur
// once and lead nowhere else ("..", "/", "\"), and the entries together are no larger than the file. So nothing that is read
// can be larger than the file that it came from. Not for use from several threads at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <string_view>

#include "base/error.h"

struct zip;  // of libzip
struct zip_file;

namespace continuo::weights {

struct ZipEntry {
  std::uint64_t index = 0;
  std::uint64_t size = 0;
};

class StoredZip {
 public:
  static Result<StoredZip> open(const std::string& path);

  const std::string& path() const { return path_; }
  const std::map<std::string, ZipEntry, std::less<>>& entries() const { return entries_; }

  /// Reads an entry onward from where it was opened.
  class Reader {
   public:
    /// Fills `out`, or says that the file is damaged.
    Status read(std::span<std::byte> out);
    /// At the end of an entry that was read from its start: compares the checksum.
    Status finish();

   private:
    friend class StoredZip;
    struct Closer {
      void operator()(struct zip_file* file) const;
    };
    Reader(const std::string& path, std::string name, struct zip_file* file) : path_(path), name_(std::move(name)), file_(file) {}
    const std::string& path_;
    std::string name_;
    std::unique_ptr<struct zip_file, Closer> file_;
  };
  /// `name` is in entries(), `offset` inside it. The reader needs the archive to stay where it is.
  Result<Reader> reader(std::string_view name, std::uint64_t offset = 0) const;

 private:
  struct Closer {
    void operator()(struct zip* archive) const;
  };
  Status list(std::uint64_t file_bytes);

  std::string path_;
  std::unique_ptr<struct zip, Closer> zip_;
  std::map<std::string, ZipEntry, std::less<>> entries_;
};

}  // namespace continuo::weights
