#include "server/media/spool_file.h"

#include <fcntl.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

namespace continuo::server {

namespace {

// Messages go to clients, so they name no path of this machine.
tl::unexpected<Error> cannot(const char* what, int error) {
  const bool full = error == ENOSPC || error == EDQUOT || error == EFBIG;
  return fail(ErrorCode::io, "the encoded sound cannot be {}: {}{}", what, std::strerror(error),
              full ? "; the disk of the server has no more room" : "");
}

}  // namespace

Result<std::unique_ptr<SpoolFile>> SpoolFile::create(const std::string& folder) {
#if defined(O_TMPFILE)
  // Without a name from the beginning, where the file system knows how.
  if (const int nameless = ::open(folder.c_str(), O_TMPFILE | O_RDWR | O_CLOEXEC, 0600); nameless >= 0) {
    return std::unique_ptr<SpoolFile>(new SpoolFile(nameless));
  }
#endif
  std::string path = folder + "/rendition-XXXXXX";
  const int descriptor = ::mkostemp(path.data(), O_CLOEXEC);
  if (descriptor < 0) return cannot("kept", errno);
  ::unlink(path.c_str());
  return std::unique_ptr<SpoolFile>(new SpoolFile(descriptor));
}

SpoolFile::~SpoolFile() { ::close(descriptor_); }

Status SpoolFile::write(std::int64_t offset, std::span<const std::byte> bytes) const {
  while (!bytes.empty()) {
    const ssize_t written = ::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return cannot("kept", errno);
    offset += written;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return {};
}

Status SpoolFile::append(std::span<const std::byte> bytes) {
  const std::int64_t end = size();
  CONTINUO_CHECK(write(end, bytes));
  size_.store(end + static_cast<std::int64_t>(bytes.size()), std::memory_order_release);
  return {};
}

Status SpoolFile::overwrite(std::int64_t offset, std::span<const std::byte> bytes) { return write(offset, bytes); }

Result<std::size_t> SpoolFile::read(std::int64_t offset, std::span<std::byte> out) const {
  std::size_t done = 0;
  while (done < out.size()) {
    const ssize_t got =
        ::pread(descriptor_, out.data() + done, out.size() - done, static_cast<off_t>(offset + static_cast<std::int64_t>(done)));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return cannot("read", errno);
    if (got == 0) break;
    done += static_cast<std::size_t>(got);
  }
  return done;
}

std::optional<std::size_t> SpoolFile::read_now(std::int64_t offset, std::span<std::byte> out) const {
#if defined(__linux__) && defined(RWF_NOWAIT)
  const iovec place{out.data(), out.size()};
  const ssize_t got = ::preadv2(descriptor_, &place, 1, static_cast<off_t>(offset), RWF_NOWAIT);
  if (got >= 0) return static_cast<std::size_t>(got);
#else
  (void)offset, (void)out;
#endif
  return std::nullopt;
}

audio::ByteSink sink_of(SpoolFile& file, bool overwriting) {
  audio::ByteSink sink{[&file](std::span<const std::byte> bytes) { return file.append(bytes); }};
  if (overwriting) {
    sink.overwrite = [&file](std::int64_t offset, std::span<const std::byte> bytes) { return file.overwrite(offset, bytes); };
  }
  return sink;
}

Status empty_spool_folder(const std::string& folder) {
  std::error_code error;
  std::filesystem::create_directories(folder, error);
  if (!error) std::filesystem::permissions(folder, std::filesystem::perms::owner_all, error);
  if (error) return fail(ErrorCode::io, "cannot use the folder {}: {}", folder, error.message());
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    std::error_code ignored;
    if (entry.is_regular_file(ignored)) std::filesystem::remove(entry.path(), ignored);
  }
  if (error) return fail(ErrorCode::io, "cannot read the folder {}: {}", folder, error.message());
  return {};
}

}  // namespace continuo::server
