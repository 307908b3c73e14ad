// A file that grows, without a name: it is gone when nobody uses it any more, or when the process ends, however that happens.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "audio/encoder.h"
#include "base/error.h"

namespace continuo::server {

class SpoolFile {
 public:
  static Result<std::unique_ptr<SpoolFile>> create(const std::string& folder);
  ~SpoolFile();
  SpoolFile(const SpoolFile&) = delete;
  SpoolFile& operator=(const SpoolFile&) = delete;

  /// One writer; readers at any time.
  Status append(std::span<const std::byte> bytes);
  Status overwrite(std::int64_t offset, std::span<const std::byte> bytes);
  std::int64_t size() const { return size_.load(std::memory_order_acquire); }

  /// How many bytes were there.
  Result<std::size_t> read(std::int64_t offset, std::span<std::byte> out) const;
  /// What lies in the system's memory, without waiting for a disk; nothing where that cannot be had or told.
  std::optional<std::size_t> read_now(std::int64_t offset, std::span<std::byte> out) const;

 private:
  explicit SpoolFile(int descriptor) : descriptor_(descriptor) {}
  Status write(std::int64_t offset, std::span<const std::byte> bytes) const;

  int descriptor_;
  std::atomic<std::int64_t> size_ = 0;
};

/// overwriting: whether the encoder may change what it wrote. file must outlive the sink.
audio::ByteSink sink_of(SpoolFile& file, bool overwriting);

/// Makes the folder if need be, for its owner alone, and removes the files in it.
Status empty_spool_folder(const std::string& folder);

}  // namespace continuo::server
