#include "weights/download.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <utility>

#include "weights/digest.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr long partial_content = 206;
constexpr long range_not_satisfiable = 416;

std::string part_path(const RemoteFile& file, const std::string& folder) { return folder + "/" + file.name + ".part"; }

std::uint64_t size_of(const std::string& path) {
  struct stat info {};
  if (::lstat(path.c_str(), &info) != 0 || !S_ISREG(info.st_mode)) return 0;
  return static_cast<std::uint64_t>(info.st_size);
}

/// The unfinished file, open at its end.
class PartFile {
 public:
  static Result<PartFile> open(const std::string& path) {
    PartFile file;
    file.path_ = path;
    file.descriptor_ = ::open(path.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (file.descriptor_ < 0) return file.failure();
    const off_t end = ::lseek(file.descriptor_, 0, SEEK_END);
    if (end < 0) return file.failure();
    file.size_ = static_cast<std::uint64_t>(end);
    return file;
  }
  PartFile(PartFile&& other) noexcept
      : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}
  PartFile& operator=(PartFile&&) = delete;
  ~PartFile() {
    if (descriptor_ >= 0) ::close(descriptor_);
  }

  std::uint64_t size() const { return size_; }

  Status start_over() {
    if (::ftruncate(descriptor_, 0) != 0 || ::lseek(descriptor_, 0, SEEK_SET) != 0) return failure();
    size_ = 0;
    return {};
  }

  Status append(std::span<const std::byte> bytes) {
    while (!bytes.empty()) {
      const ssize_t written = ::write(descriptor_, bytes.data(), bytes.size());
      if (written < 0 && errno == EINTR) continue;
      if (written < 0) return failure();
      size_ += static_cast<std::uint64_t>(written);
      bytes = bytes.subspan(static_cast<std::size_t>(written));
    }
    return {};
  }

  Status flush() { return ::fsync(descriptor_) == 0 ? Status() : failure(); }

 private:
  PartFile() = default;
  tl::unexpected<Error> failure() const {
    const int error = errno;
    if (error == ENOSPC || error == EDQUOT || error == EFBIG) {
      return fail(ErrorCode::io, "cannot write {}: {}; make room and run the same command again, it continues at {} bytes", path_,
                  std::strerror(error), size_);
    }
    return fail(ErrorCode::io, "cannot write {}: {}", path_, std::strerror(error));
  }

  std::string path_;
  int descriptor_ = -1;
  std::uint64_t size_ = 0;
};

/// True if a partial answer is the rest that was asked for: "bytes 100-499/500".
bool is_the_rest(const HttpReply& reply, std::uint64_t offset) {
  return reply.header("content-range").starts_with(fmt::format("bytes {}-", offset));
}

/// Brings what is missing. One call is one try.
Result<HttpReply> fetch_rest(Http& http, const std::string& url, const RemoteFile& file, PartFile& part,
                             const DownloadOptions& options) {
  const std::uint64_t offset = part.size();
  bool first = true;
  const BodySink sink = [&](const HttpReply& reply, std::span<const std::byte> bytes) -> Status {
    // The whole file instead of the rest (200), or another piece of it than asked for: from the start, then.
    if (first && offset > 0 && reply.status != partial_content) CONTINUO_CHECK(part.start_over());
    if (first && reply.status == partial_content && !is_the_rest(reply, offset)) {
      return fail(ErrorCode::io, "{}: the server sends another piece of the file than it was asked for", file.name);
    }
    first = false;
    if (bytes.size() > file.size - part.size()) {
      return fail(ErrorCode::io, "{}: the server sends more than the {} bytes that were announced", file.name, file.size);
    }
    CONTINUO_CHECK(part.append(bytes));
    if (options.progress) options.progress(part.size(), false);
    return {};
  };
  CONTINUO_TRY(HttpReply reply, http.exchange({.url = url, .offset = offset}, sink));
  if (reply.status == range_not_satisfiable && reply.failure.empty()) {
    CONTINUO_CHECK(part.start_over());
    reply.failure = fmt::format("{}: the server does not know the rest of the file", file.name);
  }
  const bool success = reply.status >= 200 && reply.status <= 299;
  if (success && reply.failure.empty() && part.size() < file.size) {
    reply.failure = fmt::format("{}: the server sent {} of {} bytes", file.name, part.size(), file.size);
  }
  return reply;
}

/// Gives the finished file its name if the hash is right, removes it if not.
Status accept(const RemoteFile& file, const std::string& folder, const DownloadOptions& options) {
  const std::string path = part_path(file, folder);
  const bool large = !file.sha256.empty();
  const auto go_on = [&](std::uint64_t bytes) {
    if (options.progress) options.progress(bytes, true);
    return !options.cancelled || !options.cancelled();
  };
  CONTINUO_TRY(const std::string digest, file_digest(path, large ? Digest::sha256 : Digest::git_blob, go_on));
  const std::string& announced = large ? file.sha256 : file.git_blob;
  if (digest != announced) {
    ::unlink(path.c_str());
    return fail(ErrorCode::corrupt_file,
                "{}: what arrived is not what the hub announced ({} {}, not {}); it was removed, run the same command again",
                file.name, large ? "SHA-256" : "git SHA-1", digest, printable(announced));
  }
  if (::rename(path.c_str(), (folder + "/" + file.name).c_str()) != 0) {
    return fail(ErrorCode::io, "cannot name {}/{}: {}", folder, file.name, std::strerror(errno));
  }
  return {};
}

}  // namespace

std::uint64_t bytes_there(const RemoteFile& file, const std::string& folder) {
  const std::uint64_t whole = size_of(folder + "/" + file.name);
  if (whole == file.size && whole > 0) return whole;
  const std::uint64_t part = size_of(part_path(file, folder));
  return part > file.size ? 0 : part;
}

Result<HttpReply> download(Http& http, const std::string& url, const RemoteFile& file, const std::string& folder,
                           const DownloadOptions& options) {
  HttpReply reply;
  reply.status = 200;
  if (file.size > 0 && size_of(folder + "/" + file.name) == file.size) return reply;
  {
    CONTINUO_TRY(PartFile part, PartFile::open(part_path(file, folder)));
    if (part.size() > file.size) CONTINUO_CHECK(part.start_over());
    if (part.size() < file.size) {
      // What arrives again after a start from the beginning is no progress: a server that always breaks off must not be asked
      // forever.
      std::uint64_t furthest = part.size();
      const auto attempt = [&]() -> Result<HttpReply> {
        CONTINUO_TRY(HttpReply tried, fetch_rest(http, url, file, part, options));
        tried.body_bytes = part.size() - std::min(furthest, part.size());
        furthest = std::max(furthest, part.size());
        return tried;
      };
      CONTINUO_TRY(reply, with_retries(options.retry, file.name, attempt));
    }
    if (reply.status < 200 || reply.status > 299) return reply;
    CONTINUO_CHECK(part.flush());
  }
  CONTINUO_CHECK(accept(file, folder, options));
  return reply;
}

}  // namespace continuo::weights
