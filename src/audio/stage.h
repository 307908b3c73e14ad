// Sound on its way out, piece by piece: stages that each take interleaved samples and give interleaved samples, and a chain of
// them.
//
// What every stage promises:
// - The result does not depend on how the input is cut into pieces, bit for bit.
// - Memory is bounded by the stage's look-ahead and the piece at hand, not by the length of the sound.
// - A stage that looks ahead gives its output later, never shifted: sample n of the output is sample n of the input, and finish()
//   brings what is still inside, so lengths stay the same (a resampler's: rounded to the nearest frame).
// - Zeros in, zeros out.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "base/error.h"

namespace continuo::audio {

class Stage {
 public:
  virtual ~Stage() = default;
  /// Whole frames. Appends to `out` what is ready.
  virtual Status push(std::span<const float> in, std::vector<float>& out) = 0;
  /// Nothing follows. Appends the rest.
  virtual Status finish(std::vector<float>& out) = 0;
};

class Chain {
 public:
  /// channels: of what is pushed.
  explicit Chain(int channels) : channels_(channels) {}
  void add(std::unique_ptr<Stage> stage) { stages_.push_back(std::move(stage)); }

  /// interleaved: [frames, channels]; part of a frame is an error.
  Result<std::vector<float>> push(std::span<const float> interleaved);
  /// Once, after the last push().
  Result<std::vector<float>> finish();

  /// The whole of a sound. expected: samples that will come out, as far as is known.
  Result<std::vector<float>> run(std::span<const float> interleaved, std::size_t expected = 0);

 private:
  int channels_;
  std::vector<std::unique_ptr<Stage>> stages_;
};

}  // namespace continuo::audio
