// HTTP Live Streaming (RFC 8216) of a piece while it is made and after: a playlist of the type EVENT over the fragments of the
// rendition as a stream of m4a, some of them a segment. Plays in Safari, in hls.js, and in players on FFmpeg.
//
// A fragment is about half a second. A segment ends with the fragment that makes it 2 seconds long, so where segments lie does
// not depend on when somebody asks, and the last one is what is left. A listener who joins late begins at the beginning: the
// whole piece is there.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "server/media/fragments.h"
#include "server/media/rendition.h"

namespace continuo::server {

struct Segment {
  std::int64_t offset = 0, bytes = 0;
  double seconds = 0.0;
};

struct SegmentedStream {
  std::int64_t head_bytes = 0;  // 0: nothing is there yet
  std::vector<Segment> segments;
  bool complete = false;
};

/// Of what is there. Reads the heads of all fragments, so for the pool. Errors: of the rendition if it failed.
Result<SegmentedStream> find_segments(const Rendition& m4a);
SegmentedStream segments_of(const FragmentedFile& file, bool complete);

/// head: the address of the head; a segment's is `before` + its number + `after`.
std::string write_playlist(const SegmentedStream& stream, const std::string& head, const std::string& before,
                           const std::string& after);

inline constexpr const char* playlist_media_type = "application/vnd.apple.mpegurl";

}  // namespace continuo::server
