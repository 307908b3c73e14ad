// Where the fragments of a fragmented MP4 lie (ISO/IEC 14496-12): its head, then moof and mdat in turn, while the file grows.
//
// Reads what audio/encoder.h writes as a stream of m4a: one track, its samples in the moof's one traf. Sizes are checked before
// they are used, and what is damaged is an error, so any bytes may come.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "base/error.h"

namespace continuo::server {

struct Fragment {
  std::int64_t offset = 0, bytes = 0;    // moof and mdat together
  std::int64_t start = 0, duration = 0;  // in units of the track
};

struct FragmentedFile {
  std::int64_t head_bytes = 0;  // ftyp and moov; 0: not all there yet
  std::int64_t timescale = 0;   // units of the track in a second
  std::vector<Fragment> fragments;
};

/// How many bytes from an offset were there.
using ByteSource = std::function<Result<std::size_t>(std::int64_t offset, std::span<std::byte> out)>;

/// What is complete in the first `size` bytes. complete: nothing follows, so half a fragment at the end is an error.
Result<FragmentedFile> find_fragments(const ByteSource& source, std::int64_t size, bool complete);

}  // namespace continuo::server
