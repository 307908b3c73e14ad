// The sound of one take while it grows and after: interleaved float samples in a file, appended by one writer, read by any number
// of readers at any place. The file is a WAV of 32-bit floats whose header says the final sizes from the first byte on (a piece's
// length is known when it starts), so that a finished one is an ordinary sound file. Memory does not grow with the length.
//
// Thread-safe. A recording that is dropped before finish() leaves an incomplete file, which open() refuses.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "base/error.h"

namespace continuo::server {

class Recording {
 public:
  enum class State { growing, complete, failed };
  struct Shape {
    int channels = 1;
    int sample_rate = 32'000;
    std::int64_t frames = 0;  // of the whole
  };

  static Result<std::shared_ptr<Recording>> create(const std::string& path, const Shape& shape);
  /// A complete one. Errors: cut short, not what create() writes.
  static Result<std::shared_ptr<Recording>> open(const std::string& path);
  virtual ~Recording() = default;

  virtual const Shape& shape() const = 0;
  virtual const std::string& path() const = 0;
  virtual State state() const = 0;
  virtual std::optional<Error> error() const = 0;
  /// Frames that can be read.
  virtual std::int64_t frames() const = 0;

  /// interleaved: whole frames, not past the announced length.
  virtual Status append(std::span<const float> interleaved) = 0;
  /// Errors: not the announced length.
  virtual Status finish() = 0;
  virtual void fail(Error error) = 0;

  /// Fills `out` (whole frames) from frame `first`; returns the frames that were there.
  virtual Result<std::int64_t> read(std::int64_t first, std::span<float> out) const = 0;

  /// Called, on whatever thread changed it, after each append(), finish() and fail(). The number takes it back.
  virtual std::int64_t listen(std::function<void()> changed) = 0;
  virtual void forget(std::int64_t listener) = 0;
};

}  // namespace continuo::server
