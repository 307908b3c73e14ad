// A recording in the form that somebody asked for: finished (rate, channels, loudness, gate, fades, loop) and encoded, as bytes
// in a file that grows with the recording. Any number of readers, at any offset, while it grows and after; the same bytes for
// all, and again after a restart. Made on the pool, never on the I/O thread.
//
// What needs the whole sound (a loop; a loudness measured in two passes, when `whole` is set) begins when the recording is
// complete. Everything else follows it piece by piece.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "audio/encoder.h"
#include "audio/finish.h"
#include "server/media/recording.h"
#include "server/pool.h"

namespace continuo::server {

struct RenditionFormat {
  audio::FileFormat format = audio::FileFormat::wav;
  audio::SampleFormat samples = audio::SampleFormat::pcm16;
  int bit_rate = 0;
  audio::FinishOptions finish;
  /// Finish as a file (two passes), after the recording is complete; else as a stream.
  bool whole = false;

  /// The same for equal formats, else different: the key of a cache, and an ETag with the take's id.
  std::string key() const;
};

/// What is wrong with it for a piece of this shape, before anything is made.
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
  /// Bytes that can be read.
  virtual std::int64_t size() const = 0;
  /// Bytes of the whole: known from the start for wav and pcm, for others when complete.
  virtual std::optional<std::int64_t> whole_size() const = 0;
  virtual Result<std::size_t> read(std::int64_t offset, std::span<std::byte> out) const = 0;

  /// As in Recording.
  virtual std::int64_t listen(std::function<void()> changed) = 0;
  virtual void forget(std::int64_t listener) = 0;
};

/// Finds and makes renditions. Those that nobody reads are kept for the next one who asks, the longest unused deleted first,
/// within a number of bytes. The folder is the cache's own and is emptied at the start. Thread-safe.
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
