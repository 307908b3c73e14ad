#include "weights/stored_zip.h"

#include <zip.h>

#include <cassert>
#include <cstdio>
#include <utility>

#include "base/file.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

constexpr zip_int64_t entries_max = 1 << 16;
constexpr std::size_t name_bytes_max = 512;

/// A relative path that stays below where it starts.
bool plain_name(std::string_view name) {
  if (name.empty() || name.size() > name_bytes_max || name.front() == '/') return false;
  if (!valid_utf8(name) || !single_line(name) || name.find('\\') != std::string_view::npos) return false;
  for (std::size_t start = 0; start <= name.size();) {
    const std::size_t end = std::min(name.find('/', start), name.size());
    const std::string_view part = name.substr(start, end - start);
    if (part == "." || part == "..") return false;
    start = end + 1;
  }
  return true;
}

std::string text_of(int code) {
  zip_error_t error;
  zip_error_init_with_code(&error, code);
  std::string text = zip_error_strerror(&error);
  zip_error_fini(&error);
  return text;
}

}  // namespace

void StoredZip::Closer::operator()(struct zip* archive) const { zip_discard(archive); }
void StoredZip::Reader::Closer::operator()(struct zip_file* file) const { zip_fclose(file); }

Result<StoredZip> StoredZip::open(const std::string& path) {
  StoredZip archive;
  archive.path_ = path;
  std::uint64_t file_bytes = 0;
  {
    CONTINUO_TRY(const MappedFile file, MappedFile::open(path));  // says what is wrong with a path, in our words
    file_bytes = file.bytes().size();
  }
  int code = 0;
  archive.zip_.reset(zip_open(path.c_str(), ZIP_RDONLY | ZIP_CHECKCONS, &code));
  if (!archive.zip_ && code == ZIP_ER_EXISTS)
    return fail(ErrorCode::corrupt_file, "{}: an entry of the archive occurs twice", path);
  if (!archive.zip_) {
    return fail(ErrorCode::corrupt_file, "{}: this is not a zip archive, or it is truncated or damaged ({})", path,
                text_of(code));
  }
  CONTINUO_CHECK(archive.list(file_bytes));
  return archive;
}

Status StoredZip::list(std::uint64_t file_bytes) {
  const zip_int64_t count = zip_get_num_entries(zip_.get(), 0);
  if (count > entries_max) {
    return fail(ErrorCode::corrupt_file, "{}: it has {} entries; at most {} are accepted", path_, count, entries_max);
  }
  std::uint64_t total = 0;
  for (zip_int64_t i = 0; i < count; ++i) {
    const auto index = static_cast<zip_uint64_t>(i);
    zip_stat_t info;
    constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
    if (zip_stat_index(zip_.get(), index, ZIP_FL_ENC_RAW, &info) != 0 || (info.valid & needed) != needed) {
      return fail(ErrorCode::corrupt_file, "{}: entry {} of the zip archive is damaged", path_, index);
    }
    const std::string name = info.name;
    const std::string shown = printable(name);
    if (!plain_name(name)) return fail(ErrorCode::corrupt_file, "{}: the entry '{}' has an impossible name", path_, shown);
    const bool encrypted = (info.valid & ZIP_STAT_ENCRYPTION_METHOD) != 0 && info.encryption_method != ZIP_EM_NONE;
    if (info.comp_method != ZIP_CM_STORE || encrypted) {
      return fail(ErrorCode::unsupported, "{}: the entry '{}' is compressed or encrypted; torch.save stores entries as they are",
                  path_, shown);
    }
    if (info.size != info.comp_size || info.size > file_bytes - total) {
      return fail(ErrorCode::corrupt_file, "{}: the entry '{}' claims {} bytes, which the file does not have", path_, shown,
                  info.size);
    }
    total += info.size;
    if (!entries_.emplace(name, ZipEntry{index, info.size}).second) {
      return fail(ErrorCode::corrupt_file, "{}: the entry '{}' occurs twice", path_, shown);
    }
  }
  return {};
}

Result<StoredZip::Reader> StoredZip::reader(std::string_view name, std::uint64_t offset) const {
  const auto found = entries_.find(name);
  assert(found != entries_.end() && offset <= found->second.size);
  Reader reader(path_, found->first, zip_fopen_index(zip_.get(), found->second.index, 0));
  if (!reader.file_) {
    return fail(ErrorCode::corrupt_file, "{}: the entry '{}' cannot be read ({})", path_, printable(name),
                zip_strerror(zip_.get()));
  }
  if (offset > 0 && zip_fseek(reader.file_.get(), static_cast<zip_int64_t>(offset), SEEK_SET) != 0) {
    return fail(ErrorCode::corrupt_file, "{}: the entry '{}' cannot be read from byte {} on ({})", path_, printable(name), offset,
                zip_file_strerror(reader.file_.get()));
  }
  return reader;
}

Status StoredZip::Reader::read(std::span<std::byte> out) {
  while (!out.empty()) {
    const zip_int64_t count = zip_fread(file_.get(), out.data(), out.size());
    if (count <= 0) {
      return fail(ErrorCode::corrupt_file, "{}: the entry '{}' ends early or is damaged ({})", path_, printable(name_),
                  zip_file_strerror(file_.get()));
    }
    out = out.subspan(static_cast<std::size_t>(count));
  }
  return {};
}

Status StoredZip::Reader::finish() {
  std::byte beyond{};
  const zip_int64_t count = zip_fread(file_.get(), &beyond, 1);
  if (count == 0) return {};
  return fail(ErrorCode::corrupt_file,
              "{}: the entry '{}' does not fit its checksum: it is damaged, or was saved without checksums", path_,
              printable(name_));
}

}  // namespace continuo::weights
