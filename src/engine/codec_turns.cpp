#include "engine/codec_turns.h"

#include <algorithm>
#include <tuple>

namespace continuo::engine {

int codec_limit(int pieces, int backlog) { return std::max({shared_frames, pieces, backlog / 16}); }

std::vector<JobId> codec_turn(std::span<const CodecDue> due, int pieces) {
  std::vector<CodecDue> line(due.begin(), due.end());
  std::sort(line.begin(), line.end(), [](const CodecDue& a, const CodecDue& b) {
    const auto hurry = [](const CodecDue& each) { return std::min(each.dry_in, close_to_dry); };  // beyond it all are equal
    return std::tuple(hurry(a), !a.first, -a.waited, a.id) < std::tuple(hurry(b), !b.first, -b.waited, b.id);
  });
  int backlog = 0;
  for (const CodecDue& each : line) backlog += each.backlog;
  const int limit = codec_limit(pieces, backlog);
  std::vector<JobId> go;
  int frames = 0;
  for (const CodecDue& each : line) {
    if (frames >= limit) break;
    go.push_back(each.id);
    frames += each.frames;
  }
  return go;
}

}  // namespace continuo::engine
