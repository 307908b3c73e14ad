// Joining a recording and its continuation. A model continues the codec's reconstruction of the recording, never the recording
// itself: putting one behind the other would click. So the recording fades into its own reconstruction just before it ends, and
// from there on all is the codec's.
#pragma once

#include <cstddef>
#include <span>

namespace continuo::audio {

/// Long enough to hide the change, short enough to keep the recording.
inline constexpr double splice_seconds = 0.02;

/// whole: [samples, channels], its beginning the reconstruction of `original` [fewer samples, channels]. Puts the original's own
/// samples there; over its last `fade` samples (or all, if it has fewer) they go over into the reconstruction. The weights add up
/// to 1, as suits two signals that are nearly equal, and change along half a cosine.
void splice(std::span<float> whole, std::span<const float> original, int channels, std::size_t fade);

/// The same for a sound that comes in pieces: `piece` is what follows `first` samples (of each channel) of the whole. What lies
/// behind the original stays.
void splice_piece(std::span<float> piece, std::size_t first, std::span<const float> original, int channels, std::size_t fade);

}  // namespace continuo::audio
