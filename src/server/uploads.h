// Sounds that clients sent, to be continued or followed as a melody: files in one folder, each with a line about it, so that jobs
// that wait for a restart find them again.
//
// What is kept was decoded once: an upload that is no sound, or too long, is never taken in. Its bytes are limited before they
// are read, its seconds before and while it is decoded. Ids cannot be guessed, and are the only names; nothing that a client says
// becomes part of a path. An upload goes when its time is over or it is deleted, never to make room: a full store refuses.
// What a job has pinned stays until it is let go, also over a restart.
//
// Thread-safe: add() and sound() take time and belong on the pool, the others are quick.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>

#include "audio/media.h"
#include "base/error.h"
#include "server/options.h"
#include "server/requests/api_error.h"

namespace continuo::server {

struct Upload {
  std::string id;
  double seconds = 0.0;
  int sample_rate = 0;
  int channels = 0;
  std::int64_t bytes = 0;
  double created = 0.0, expires = 0.0;  // seconds since 1970
};

class Uploads {
 public:
  enum class Lookup { found, expired, unknown };

  /// The folder is made if need be; complete uploads in it are kept, everything else in it that is ours is deleted. now: seconds
  /// since 1970.
  static Result<std::unique_ptr<Uploads>> open(const std::string& folder, const Limits& limits, double now);

  /// Errors: 413 too many bytes or seconds, 415 no sound, 429 as many uploads as are kept, 500 the disk.
  Parsed<Upload> add(std::string_view bytes, double now);
  /// expired: there was one of this id, or its time is over and only jobs still use it.
  std::pair<Lookup, std::optional<Upload>> find(const std::string& id, double now) const;
  /// The whole sound, decoded again. Also of one that is expired but pinned.
  Result<audio::Sound> sound(const std::string& id) const;
  /// The same, but only the last seconds of it, or a little more.
  Result<audio::SoundEnd> sound_end(const std::string& id, double seconds) const;
  /// False: there is none. Jobs that pinned it keep it; others no longer see it.
  bool remove(const std::string& id);

  /// Counted: as often as it was pinned it must be let go. False: there is none. Pins do not outlive the process; jobs that are
  /// taken up after a restart have a minute to pin again, for which everything stays.
  bool pin(const std::string& id);
  void unpin(const std::string& id);

  /// Deletes what is expired and not pinned; called now and then.
  void sweep(double now);
  int count() const;
  std::int64_t bytes() const;

 private:
  struct Entry {
    Upload upload;
    int pins = 0;
    bool removed = false;  // by its owner, but pinned
  };

  Uploads(std::string folder, const Limits& limits) : folder_(std::move(folder)), limits_(limits) {}
  std::string path(const std::string& id, const char* ending) const;
  void erase(const std::string& id);
  Status restore(double now);

  std::string folder_;
  Limits limits_;
  mutable std::mutex mutex_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, double> gone_;  // ids of the expired and deleted, with the time; remembered for a while
  int adding_ = 0;
};

}  // namespace continuo::server
