// What a melody model hears of a recording: its loudest pitch class, spectrum by spectrum. As transformers'
// MusicgenMelodyFeatureExtractor and audiocraft compute it (torchaudio's spectrogram, librosa's chroma filter bank), in double
// precision. No stems are separated first: drums and bass are heard too, where the reference removes them.
#pragma once

#include <limits>
#include <span>
#include <vector>

#include "base/error.h"

namespace continuo::audio {

/// Only so much from the beginning of a recording is listened to, as by transformers. audiocraft cuts the chroma instead, so that
/// its last two spectra hear what follows, where ours and transformers' hear the reflected end.
inline constexpr int max_melody_seconds = 30;

struct ChromaOptions {
  int sample_rate = 32'000;
  int bins = 12;       // pitch classes, the first is C
  int n_fft = 16'384;  // samples of a spectrum
  int hop = 4'096;     // samples from one spectrum to the next
  int most_frames = std::numeric_limits<int>::max();
};

struct Chroma {
  std::vector<float> levels;  // [frames, bins], relative to the loudest of the frame; a silent frame is all zeros
  std::vector<int> classes;   // [frames], the loudest; the first of equals, so 0 where it is silent
};

/// audio: mono samples at options.sample_rate. 1 + floor(samples / hop) frames of the first 30 s, centred on multiples of the
/// hop.
Result<Chroma> chroma_of(std::span<const float> audio, const ChromaOptions& options);

}  // namespace continuo::audio
