// Conditioning that survives restarts: one file for each prompt, in a folder that several engines may share.
//
// - A file is read by the engine's thread, before it starts a piece: a few megabytes, a few milliseconds. It is written by a
//   thread of the store's own; when that one falls behind, what comes is dropped and computed again another day.
// - A file is believed only when everything fits: magic, version, sizes, checksum, the identity of what made it, the prompt. Any
//   other file of that name is removed. The checksum is against damage, not malice: files belong to their owner alone.
// - File names are hashes; the prompt stands inside, so that two prompts can never be taken for each other.
// - The folder is held below `most_bytes`; the files that have not been used for the longest time go first.
// - Nothing here can fail a request: a folder that cannot be written means one warning and no files.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "base/error.h"
#include "engine/heard_text.h"
#include "weights/tensor_source.h"

namespace continuo::engine {

/// What the conditioning of a prompt depends on in a model: its configuration, its tokenizer and every weight of the text encoder
/// and of what projects its states. 32 hexadecimal digits.
std::string conditioning_identity(const weights::TensorSource& source);

class ConditioningStore {
 public:
  struct Options {
    std::string folder;
    std::int64_t most_bytes = std::int64_t{256} << 20;
    std::size_t most_queued = 16;
    std::function<void(const std::string&)> warn;  // called at most once; empty: a line to standard error
  };
  /// identity: of everything that made the bytes (the model, the type of keys and values, the executor).
  ConditioningStore(Options options, std::string identity);
  /// Writes what is queued.
  ~ConditioningStore();

  /// What a file holds.
  struct Record {
    std::vector<std::byte> file;
    std::span<const std::byte> cross, projected, fingerprint;  // of `file`; those that there are none of are empty
  };
  std::optional<Record> find(const std::string& prompt);
  /// Takes the memory that heard points to for as long as the writing takes. Never waits.
  void put(const std::string& prompt, const HeardText& heard);
  /// The file of a prompt did not hold what it should: removes it.
  void reject(const std::string& prompt);

  /// Waits until nothing is queued; for tests.
  void settle();
  std::string path_of(std::string_view prompt) const;

 private:
  struct Entry {
    std::string prompt;
    HeardText heard;
  };
  void loop();
  Status write(const Entry& entry);
  void shrink();
  void warn_once(const std::string& message);

  Options options_;
  std::string identity_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Entry> queue_;
  bool busy_ = false, stop_ = false, warned_ = false;
  std::thread thread_;
};

}  // namespace continuo::engine
