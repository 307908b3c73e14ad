#include "engine/steady_level.h"

namespace continuo::engine {

bool needs_windows(const Request& request, const weights::ModelConfig& config) {
  if (request.endless) return true;
  if (request.segments.empty()) return frame_count(request.seconds, config) > config.decoder.max_frames;
  double seconds = 0.0;  // since the last crossfade
  for (const Segment& segment : request.segments) {
    if (segment.join == Join::crossfaded) seconds = 0.0;
    seconds += segment.seconds;
    if (frame_count(seconds, config) > config.decoder.max_frames) return true;
  }
  return false;
}

void keep_level_of(const Request& request, double given_seconds, audio::FinishOptions& options) {
  options.keep_level = true;
  options.level_rest = given_seconds;
  options.level_anew.clear();
  double begins = 0.0;
  for (std::size_t i = 0; i < request.segments.size(); ++i) {
    // "soft piano" before "loud drums" is meant to be softer.
    if (i > 0 && request.segments[i].prompt != request.segments[i - 1].prompt) options.level_anew.push_back(begins);
    begins += request.segments[i].seconds;
  }
}

}  // namespace continuo::engine
