#include "server/media/fragments.h"

#include <algorithm>
#include <array>
#include <limits>
#include <optional>
#include <string_view>

namespace continuo::server {

namespace {

// Heads of half a second are some hundred bytes.
constexpr std::int64_t most_head_bytes = 1 << 20;

tl::unexpected<Error> damaged(const char* what) {
  return fail(ErrorCode::corrupt_file, "a fragmented MP4 has a damaged {}", what);
}

/// Big-endian numbers off the front; too few bytes make every later answer 0 and `short_` true.
class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t number(std::size_t width) {
    if (bytes_.size() < width) {
      short_ = true;
      bytes_ = {};
      return 0;
    }
    std::uint64_t value = 0;
    for (const std::byte byte : bytes_.first(width)) value = value << 8 | std::to_integer<std::uint64_t>(byte);
    bytes_ = bytes_.subspan(width);
    return value;
  }
  std::string_view name() {
    if (bytes_.size() < 4) {
      short_ = true;
      bytes_ = {};
      return "";
    }
    const std::string_view text(reinterpret_cast<const char*>(bytes_.data()), 4);
    bytes_ = bytes_.subspan(4);
    return text;
  }
  std::span<const std::byte> rest() const { return bytes_; }
  bool ran_out() const { return short_; }

 private:
  std::span<const std::byte> bytes_;
  bool short_ = false;
};

struct Box {
  std::string_view name;
  std::span<const std::byte> content;
};

/// The next of the boxes inside a box; nothing at the end. `inside` is shortened by it.
Result<std::optional<Box>> next_box(std::span<const std::byte>& inside) {
  if (inside.empty()) return std::nullopt;
  Reader reader(inside);
  const std::uint64_t size = reader.number(4);
  const std::string_view name = reader.name();
  if (reader.ran_out() || size < 8 || size > inside.size()) return damaged("box");
  const Box box{name, inside.subspan(8, static_cast<std::size_t>(size) - 8)};
  inside = inside.subspan(static_cast<std::size_t>(size));
  return box;
}

/// The first box of a path of names, one inside the other; nothing if there is none.
Result<std::optional<Box>> find_box(std::span<const std::byte> inside, std::span<const std::string_view> path) {
  for (;;) {
    CONTINUO_TRY(const std::optional<Box> box, next_box(inside));
    if (!box) return std::nullopt;
    if (box->name != path.front()) continue;
    if (path.size() == 1) return box;
    return find_box(box->content, path.subspan(1));
  }
}

struct Track {
  std::int64_t timescale = 0;
  std::int64_t sample_duration = 0;  // where a fragment says nothing
};

Result<Track> read_moov(std::span<const std::byte> moov) {
  static constexpr std::array<std::string_view, 3> media_header{"trak", "mdia", "mdhd"};
  static constexpr std::array<std::string_view, 2> defaults{"mvex", "trex"};
  Track track;
  CONTINUO_TRY(const auto header, find_box(moov, media_header));
  if (!header) return damaged("moov");
  Reader reader(header->content);
  const std::uint64_t version = reader.number(4) >> 24;
  reader.number(version == 1 ? 8 : 4);  // created
  reader.number(version == 1 ? 8 : 4);  // changed
  track.timescale = static_cast<std::int64_t>(reader.number(4));
  if (reader.ran_out() || track.timescale == 0) return damaged("mdhd");
  CONTINUO_TRY(const auto extends, find_box(moov, defaults));
  if (extends) {
    Reader values(extends->content);
    for (int i = 0; i < 3; ++i) values.number(4);  // version, track, description
    track.sample_duration = static_cast<std::int64_t>(values.number(4));
    if (values.ran_out()) return damaged("trex");
  }
  return track;
}

/// The default duration of a fragment's samples.
Result<std::int64_t> read_tfhd(std::span<const std::byte> tfhd, std::int64_t otherwise) {
  Reader reader(tfhd);
  const std::uint64_t flags = reader.number(4);
  reader.number(4);                           // track
  if ((flags & 0x1U) != 0) reader.number(8);  // where its data lie
  if ((flags & 0x2U) != 0) reader.number(4);  // description
  const std::int64_t duration = (flags & 0x8U) != 0 ? static_cast<std::int64_t>(reader.number(4)) : otherwise;
  if (reader.ran_out()) return damaged("tfhd");
  return duration;
}

Result<std::int64_t> duration_of_run(std::span<const std::byte> trun, std::int64_t sample_duration) {
  Reader reader(trun);
  const std::uint64_t flags = reader.number(4);
  const auto count = static_cast<std::int64_t>(reader.number(4));
  if ((flags & 0x1U) != 0) reader.number(4);  // where its data lie
  if ((flags & 0x4U) != 0) reader.number(4);  // flags of the first sample
  if (reader.ran_out()) return damaged("trun");
  if ((flags & 0x100U) == 0) return count * sample_duration;
  const std::size_t more =
      4 * static_cast<std::size_t>(((flags & 0x200U) != 0) + ((flags & 0x400U) != 0) + ((flags & 0x800U) != 0));
  std::int64_t sum = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    sum += static_cast<std::int64_t>(reader.number(4));
    for (std::size_t skipped = 0; skipped < more; skipped += 4) reader.number(4);
    if (reader.ran_out()) return damaged("trun");
  }
  return sum;
}

Result<Fragment> read_moof(std::span<const std::byte> moof, const Track& track) {
  static constexpr std::array<std::string_view, 1> run_path{"traf"};
  CONTINUO_TRY(const auto traf, find_box(moof, run_path));
  if (!traf) return damaged("moof");
  Fragment fragment;
  std::int64_t sample_duration = track.sample_duration;
  bool placed = false;
  for (std::span<const std::byte> inside = traf->content;;) {
    CONTINUO_TRY(const auto box, next_box(inside));
    if (!box) break;
    if (box->name == "tfhd") {
      CONTINUO_TRY(sample_duration, read_tfhd(box->content, sample_duration));
    } else if (box->name == "tfdt") {
      Reader reader(box->content);
      const std::uint64_t version = reader.number(4) >> 24;
      const std::uint64_t start = reader.number(version == 1 ? 8 : 4);
      placed = !reader.ran_out() && start <= std::numeric_limits<std::int64_t>::max() / 2;
      if (placed) fragment.start = static_cast<std::int64_t>(start);
    } else if (box->name == "trun") {
      CONTINUO_TRY(const std::int64_t duration, duration_of_run(box->content, sample_duration));
      if (duration > std::numeric_limits<std::int64_t>::max() / 2 - fragment.duration) return damaged("trun");
      fragment.duration += duration;
    }
  }
  if (!placed) return damaged("tfdt");
  return fragment;
}

struct TopBox {
  std::string_view name;
  std::int64_t head = 0, bytes = 0;
};

class Scan {
 public:
  Scan(const ByteSource& source, std::int64_t size) : source_(source), size_(size) {}

  /// At an offset; nothing if its first bytes are not there, or say that it reaches to the end of the file.
  Result<std::optional<TopBox>> top_box(std::int64_t offset) {
    const auto count = static_cast<std::size_t>(std::clamp<std::int64_t>(size_ - offset, 0, 16));
    if (count < 8) return std::nullopt;
    CONTINUO_CHECK(load(std::span(start_).first(count), offset));
    Reader reader(std::span<const std::byte>(start_).first(count));
    TopBox box;
    std::uint64_t bytes = reader.number(4);
    box.name = reader.name();
    box.head = 8;
    if (bytes == 1) {
      if (count < 16) return std::nullopt;
      bytes = reader.number(8);
      box.head = 16;
    }
    if (bytes == 0) return std::nullopt;
    if (bytes < static_cast<std::uint64_t>(box.head) || bytes > std::numeric_limits<std::int64_t>::max() / 2)
      return damaged("box");
    box.bytes = static_cast<std::int64_t>(bytes);
    return box;
  }

  bool is_there(std::int64_t offset, const TopBox& box) const { return box.bytes <= size_ - offset; }

  Result<std::vector<std::byte>> content(std::int64_t offset, const TopBox& box) {
    if (box.bytes > most_head_bytes) return damaged("head");
    std::vector<std::byte> bytes(static_cast<std::size_t>(box.bytes - box.head));
    CONTINUO_CHECK(load(bytes, offset + box.head));
    return bytes;
  }

 private:
  Status load(std::span<std::byte> out, std::int64_t offset) {
    CONTINUO_TRY(const std::size_t got, source_(offset, out));
    if (got != out.size()) return damaged("end");
    return {};
  }

  const ByteSource& source_;
  const std::int64_t size_;
  std::array<std::byte, 16> start_{};
};

}  // namespace

Result<FragmentedFile> find_fragments(const ByteSource& source, std::int64_t size, bool complete) {
  FragmentedFile file;
  Scan scan(source, size);
  std::optional<Track> track;
  std::optional<Fragment> open;  // a moof that waits for its mdat
  std::int64_t at = 0;
  for (;;) {
    CONTINUO_TRY(const auto box, scan.top_box(at));
    if (!box || !scan.is_there(at, *box)) break;
    if (box->name == "moov" && !track) {
      CONTINUO_TRY(const auto content, scan.content(at, *box));
      CONTINUO_TRY(track, read_moov(content));
      file.timescale = track->timescale;
      file.head_bytes = at + box->bytes;
    } else if (box->name == "moof") {
      if (!track || open) return damaged("order of boxes");
      CONTINUO_TRY(const auto content, scan.content(at, *box));
      CONTINUO_TRY(open, read_moof(content, *track));
      open->offset = at;
    } else if (box->name == "mdat") {
      if (!open) return damaged("order of boxes");
      open->bytes = at + box->bytes - open->offset;
      file.fragments.push_back(*open);
      open.reset();
    }
    at += box->bytes;
  }
  if (complete && (at != size || open || !track)) return damaged("end");
  return file;
}

}  // namespace continuo::server
