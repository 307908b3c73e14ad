// A recording in the form that somebody asked for: finished (rate, channels, loudness, gate, fades, loop) and encoded, as bytes
// in a file that grows with the recording. Any number of readers, at any offset, while it grows and after; the same bytes for
// all, and again after a restart. Made on the pool, never on the I/O thread.
//
// There are two kinds. A stream follows the recording piece by piece, and what was handed to a reader never changes. A `whole`
// one is made as a file: loudness in two passes, an MP3 that plays at its exact length, a FLAC with its checksum; it has no bytes
// for readers before it is complete. Loops are always of that kind. The kinds have different bytes and different keys; where they
// would be the same, as those of a WAV without loudness, they are one.
//
// A rendition that nobody holds goes on for a minute; then an incomplete one is dropped.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "server/media/recording.h"
#include "server/media/rendition_format.h"
#include "server/pool.h"

namespace continuo::server {

/// For a piece of this shape. Without a wish the piece's own rate, or one that the format has.
int sample_rate_of(const RenditionFormat& format, const Recording::Shape& shape);
int channels_of(const RenditionFormat& format, const Recording::Shape& shape);

/// What is wrong with it for a piece of this shape, before anything is made. Takes a millisecond or so: an encoder is tried.
Status check_rendition(const RenditionFormat& format, const Recording::Shape& shape);

class Rendition {
 public:
  enum class State { growing, complete, failed };
  virtual ~Rendition() = default;

  virtual const RenditionFormat& format() const = 0;
  virtual int sample_rate() const = 0;
  virtual int channels() const = 0;
  virtual State state() const = 0;
  virtual std::optional<Error> error() const = 0;
  /// Bytes that can be read. None before the first sound.
  virtual std::int64_t size() const = 0;
  /// Bytes of the whole: known from the start for wav and pcm (but for loops), for others when complete.
  virtual std::optional<std::int64_t> whole_size() const = 0;
  /// How many bytes were there. May wait for the disk.
  virtual Result<std::size_t> read(std::int64_t offset, std::span<std::byte> out) const = 0;
  /// The same if it can be done at once, because the bytes lie in the system's memory; else nothing.
  virtual std::optional<std::size_t> read_now(std::int64_t, std::span<std::byte>) const { return std::nullopt; }

  /// As in Recording.
  virtual std::int64_t listen(std::function<void()> changed) = 0;
  virtual void forget(std::int64_t listener) = 0;
};

/// Finds and makes renditions. Those that nobody reads are kept for the next one who asks, the longest unused deleted first,
/// within a number of bytes. The folder is the cache's own and is emptied at the start. Thread-safe. Destroyed before the pool.
class Renditions {
 public:
  static Result<std::unique_ptr<Renditions>> create(const std::string& folder, std::int64_t most_bytes, Pool& pool);
  virtual ~Renditions() = default;
  /// take: the recording's identity, the same after a restart.
  virtual Result<std::shared_ptr<Rendition>> of(const std::string& take, std::shared_ptr<Recording> recording,
                                                const RenditionFormat& format) = 0;
  /// Of a take that is deleted; readers keep theirs.
  virtual void drop(const std::string& take) = 0;
  virtual std::int64_t bytes() const = 0;
};

}  // namespace continuo::server
