#include "server/media/hls.h"

#include <iterator>

namespace continuo::server {

namespace {

constexpr double least_seconds = 2.0;
// The longest segment, in whole seconds, which a playlist must promise from the beginning: 2 and a fragment.
constexpr int target_seconds = 3;

}  // namespace

SegmentedStream segments_of(const FragmentedFile& file, bool complete) {
  SegmentedStream stream;
  stream.head_bytes = file.head_bytes;
  stream.complete = complete;
  Segment next;
  std::int64_t duration = 0;  // in units of the track, so that nothing is lost by rounding
  const auto close = [&] {
    next.seconds = static_cast<double>(duration) / static_cast<double>(file.timescale);
    stream.segments.push_back(next);
    next = {};
    duration = 0;
  };
  for (const Fragment& fragment : file.fragments) {
    if (next.bytes == 0) next.offset = fragment.offset;
    duration += fragment.duration;
    next.bytes = fragment.offset + fragment.bytes - next.offset;
    if (static_cast<double>(duration) >= least_seconds * static_cast<double>(file.timescale)) close();
  }
  if (complete && next.bytes > 0) close();
  return stream;
}

Result<SegmentedStream> find_segments(const Rendition& m4a) {
  const Rendition::State state = m4a.state();  // before the size: a complete one has all of it
  if (state == Rendition::State::failed) return forward_error(m4a.error().value_or(Error{ErrorCode::io, "the piece failed"}));
  const ByteSource source = [&](std::int64_t offset, std::span<std::byte> out) { return m4a.read(offset, out); };
  const bool complete = state == Rendition::State::complete;
  CONTINUO_TRY(const FragmentedFile file, find_fragments(source, m4a.size(), complete));
  return segments_of(file, complete);
}

std::string write_playlist(const SegmentedStream& stream, const std::string& head, const std::string& before,
                           const std::string& after) {
  std::string text = fmt::format(
      "#EXTM3U\n#EXT-X-VERSION:7\n#EXT-X-TARGETDURATION:{}\n#EXT-X-MEDIA-SEQUENCE:0\n#EXT-X-PLAYLIST-TYPE:EVENT\n"
      "#EXT-X-INDEPENDENT-SEGMENTS\n#EXT-X-START:TIME-OFFSET=0,PRECISE=YES\n#EXT-X-MAP:URI=\"{}\"\n",
      target_seconds, head);
  for (std::size_t i = 0; i < stream.segments.size(); ++i) {
    fmt::format_to(std::back_inserter(text), "#EXTINF:{:.6f},\n{}{}{}\n", stream.segments[i].seconds, before, i, after);
  }
  if (stream.complete) text += "#EXT-X-ENDLIST\n";
  return text;
}

}  // namespace continuo::server
