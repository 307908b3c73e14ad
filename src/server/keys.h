// API keys of a file: who may call. A line is `name: key`, or a key alone; blank lines and lines that start with # are skipped.
// Several lines may have the same name, so that a key can be replaced without a moment when neither counts.
//
// Only hashes are kept, and every comparison looks at all of them in the same time, so neither memory nor the clock tells a key.
// Messages name lines, never what stands in them. Thread-safe.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"

namespace continuo::server {

inline constexpr std::size_t least_key_bytes = 16;
inline constexpr std::size_t most_key_bytes = 512;

class Keys {
 public:
  /// Errors: no such file, no key in it, a line that is none, a key that is too short or stands twice.
  static Result<std::unique_ptr<Keys>> load(const std::string& path);
  ~Keys();

  /// Reads the file again. On an error the keys stay as they are.
  Status reload();

  /// Whose key it is. A key without a name goes by "key-" and eight digits that follow from it, the same after every start.
  std::optional<std::string> name_of(std::string_view key) const;

  std::size_t count() const;
  /// What is unwise about the file: that others on this machine can read or change it.
  std::optional<std::string> warning() const;

 private:
  struct Table;
  explicit Keys(std::string path);

  std::string path_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Table> table_;
};

/// The key that a request shows: of "Authorization: Bearer KEY", else of "X-Api-Key: KEY"; empty if there is none.
std::string_view shown_key(std::string_view authorization, std::string_view x_api_key);

}  // namespace continuo::server
