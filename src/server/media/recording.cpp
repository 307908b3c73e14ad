#include "server/media/recording.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <mutex>
#include <utility>

#include "audio/bytes.h"
#include "audio/wav.h"
#include "server/media/listeners.h"

namespace continuo::server {

namespace {

// Where a WAV header of 32-bit floats says what we need to write the same header again (audio/wav.cpp).
constexpr std::size_t channels_at = 22, rate_at = 24, frames_at = 46, header_bytes = 58;

// Messages go to clients, so they name no path of this machine.
tl::unexpected<Error> cannot(const char* what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return fail(ErrorCode::io, "the sound cannot be {}: {}{}", what, std::strerror(error),
              full ? "; the disk of the server has no more room" : "");
}

/// Closed with its last owner.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  ~Descriptor() {
    if (number_ >= 0) ::close(number_);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number() const { return number_; }

 private:
  int number_;
};
using Shared = std::shared_ptr<const Descriptor>;

/// How many bytes were there.
Result<std::size_t> read_at_offset(int descriptor, std::int64_t offset, std::span<std::byte> out) {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(descriptor, out.data() + done, out.size() - done, static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

/// A growing one keeps its file open. A complete one opens it for each read: a server knows thousands of them.
class FileRecording final : public Recording {
 public:
  FileRecording(std::string path, Shape shape, Shared file)
      : path_(std::move(path)),
        shape_(shape),
        frame_bytes_(static_cast<std::int64_t>(sizeof(float)) * shape.channels),
        state_(file ? State::growing : State::complete),
        file_(std::move(file)),
        frames_(file_ ? 0 : shape.frames) {}

  const Shape& shape() const override { return shape_; }
  const std::string& path() const override { return path_; }
  std::int64_t frames() const override { return frames_.load(std::memory_order_acquire); }

  State state() const override {
    const std::lock_guard lock(mutex_);
    return state_;
  }

  std::optional<Error> error() const override {
    const std::lock_guard lock(mutex_);
    return error_;
  }

  Status append(std::span<const float> interleaved) override {
    CONTINUO_TRY(const Shared file, growing_file());
    const auto channels = static_cast<std::size_t>(shape_.channels);
    const std::int64_t before = frames();
    const auto count = static_cast<std::int64_t>(interleaved.size() / channels);
    if (interleaved.size() % channels != 0 || count > shape_.frames - before) {
      return continuo::fail(ErrorCode::invalid_argument, "{} samples do not fit into a recording of {} frames that has {}",
                            interleaved.size(), shape_.frames, before);
    }
    if (const Status written = write(file->number(), place_of(before), std::as_bytes(interleaved)); !written) {
      fail(written.error());
      return written;
    }
    frames_.store(before + count, std::memory_order_release);
    listeners_.call();
    return {};
  }

  Status finish() override {
    CONTINUO_TRY(const Shared file, growing_file());
    if (frames() != shape_.frames) {
      return continuo::fail(ErrorCode::invalid_argument, "a recording of {} frames ended after {}", shape_.frames, frames());
    }
    if (::fdatasync(file->number()) != 0) {
      const Status written = cannot("written", errno);
      fail(written.error());
      return written;
    }
    end(State::complete, std::nullopt);
    return {};
  }

  void fail(Error error) override { end(State::failed, std::move(error)); }

  Result<std::int64_t> read(std::int64_t first, std::span<float> out) const override {
    const auto channels = static_cast<std::size_t>(shape_.channels);
    if (first < 0 || out.size() % channels != 0) {
      return continuo::fail(ErrorCode::invalid_argument, "a recording has no frame {}, or {} samples are not whole frames", first,
                            out.size());
    }
    const std::int64_t there = std::max<std::int64_t>(0, frames() - first);
    const std::int64_t count = std::min(there, static_cast<std::int64_t>(out.size() / channels));
    if (count == 0) return 0;
    CONTINUO_TRY(const Shared file, readable_file());
    const auto bytes = std::as_writable_bytes(out.first(static_cast<std::size_t>(count) * channels));
    CONTINUO_TRY(const std::size_t got, read_at_offset(file->number(), place_of(first), bytes));
    if (got != bytes.size()) return continuo::fail(ErrorCode::corrupt_file, "the sound was cut short on the server's disk");
    return count;
  }

  std::int64_t listen(std::function<void()> changed) override { return listeners_.add(std::move(changed)); }
  void forget(std::int64_t listener) override { listeners_.remove(listener); }

 private:
  std::int64_t place_of(std::int64_t frame) const { return static_cast<std::int64_t>(header_bytes) + frame * frame_bytes_; }

  Result<Shared> growing_file() const {
    const std::lock_guard lock(mutex_);
    if (state_ == State::failed) return forward_error(*error_);
    if (state_ == State::complete) return continuo::fail(ErrorCode::invalid_argument, "this recording is finished");
    return file_;
  }

  Result<Shared> readable_file() const {
    {
      const std::lock_guard lock(mutex_);
      if (file_) return file_;
    }
    const int number = ::open(path_.c_str(), O_RDONLY | O_CLOEXEC);
    if (number < 0 && errno == ENOENT) return continuo::fail(ErrorCode::not_found, "the sound is no longer on the server");
    if (number < 0) return cannot("read", errno);
    return std::make_shared<const Descriptor>(number);
  }

  static Status write(int descriptor, std::int64_t offset, std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::pwrite(descriptor, bytes.data(), bytes.size(), static_cast<off_t>(offset));
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return cannot("written", errno);
      offset += written;
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  void end(State state, std::optional<Error> error) {
    Shared closed;  // after the lock
    {
      const std::lock_guard lock(mutex_);
      if (state_ != State::growing) return;
      state_ = state;
      error_ = std::move(error);
      closed = std::exchange(file_, nullptr);
    }
    listeners_.call();
  }

  friend class Recording;

  const std::string path_;
  const Shape shape_;
  const std::int64_t frame_bytes_;
  mutable std::mutex mutex_;
  State state_;
  std::optional<Error> error_;
  Shared file_;  // while growing
  std::atomic<std::int64_t> frames_;
  Listeners listeners_;
};

}  // namespace

Result<std::shared_ptr<Recording>> Recording::create(const std::string& path, const Shape& shape) {
  if (shape.frames < 0) return continuo::fail(ErrorCode::invalid_argument, "a recording of {} frames cannot be", shape.frames);
  CONTINUO_TRY(const auto header,
               audio::wav_header(shape.frames, shape.channels, shape.sample_rate, audio::SampleFormat::float32));
  ::unlink(path.c_str());  // of a run before a crash; whoever still reads it keeps it
  const auto file =
      std::make_shared<const Descriptor>(::open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600));
  if (file->number() < 0) return cannot("written", errno);
  CONTINUO_CHECK(FileRecording::write(file->number(), 0, header));
  return std::make_shared<FileRecording>(path, shape, file);
}

Result<std::shared_ptr<Recording>> Recording::open(const std::string& path) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (file.number() < 0 && errno == ENOENT) {
    return continuo::fail(ErrorCode::not_found, "the sound is no longer on the server");
  }
  if (file.number() < 0) return cannot("read", errno);
  struct stat info {};
  if (::fstat(file.number(), &info) != 0) return cannot("read", errno);
  std::array<std::byte, header_bytes> header{};
  CONTINUO_TRY(const std::size_t got, S_ISREG(info.st_mode) ? read_at_offset(file.number(), 0, header) : Result<std::size_t>(0));
  const auto foreign = [] { return continuo::fail(ErrorCode::corrupt_file, "this is not a recording of continuo"); };
  if (got != header.size()) return foreign();
  Shape shape;
  shape.channels = audio::read_at<std::uint16_t>(header, channels_at);
  shape.frames = audio::read_at<std::uint32_t>(header, frames_at);
  shape.sample_rate = audio::read_at<std::int32_t>(header, rate_at);
  const auto expected = audio::wav_header(shape.frames, shape.channels, shape.sample_rate, audio::SampleFormat::float32);
  if (!expected || !std::equal(header.begin(), header.end(), expected->begin(), expected->end())) return foreign();
  const std::int64_t frame_bytes = static_cast<std::int64_t>(sizeof(float)) * shape.channels;
  const std::int64_t size = static_cast<std::int64_t>(header_bytes) + shape.frames * frame_bytes;
  if (info.st_size < size) {
    return continuo::fail(ErrorCode::corrupt_file, "the recording was cut short: it has {} of {} bytes", info.st_size, size);
  }
  if (info.st_size > size) return foreign();
  return std::make_shared<FileRecording>(path, shape, nullptr);
}

}  // namespace continuo::server
