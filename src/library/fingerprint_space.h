// Where the cosine of two fingerprints means something.
//
// A prompt's raw fingerprint is the mean of the text encoder's last hidden states. Those of any two prompts lie close together:
// they share a large common part, and a few directions in which all of them vary. Taking the mean of the reference prompts away
// (centring) removes the first; scaling the principal directions to equal spread (whitening; Su et al. 2021, "Whitening Sentence
// Representations") removes the second. docs/quality.md has the measured difference.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "base/error.h"

namespace continuo::library {

enum class SpaceKind : std::uint8_t { raw, centred, whitened };

class FingerprintSpace {
 public:
  /// fingerprints: [prompts, width], those of reference_prompts() by the encoder that will make all others. A whitened space gets
  /// `dimensions`, or as many as there can be: no more than the width, and less than half the prompts, or the spread of the last
  /// ones is chance. Errors: no fingerprints, values that are not finite, prompts that are all alike.
  static Result<FingerprintSpace> fit(std::span<const float> fingerprints, int width, SpaceKind kind, int dimensions);

  int width() const { return width_; }            // of a raw fingerprint
  int dimensions() const { return dimensions_; }  // of a projected one

  /// -> [dimensions], of length 1; all zero if nothing of it lies in the space. Errors: another width, a value that is not
  /// finite.
  Result<std::vector<float>> project(std::span<const float> fingerprint) const;

  /// To be kept in a file and read from one: mean [width], then matrix [dimensions, width] if whitened.
  std::span<const float> mean() const { return mean_; }
  std::span<const float> matrix() const { return matrix_; }
  SpaceKind kind() const { return kind_; }
  static Result<FingerprintSpace> from_parts(SpaceKind kind, std::vector<float> mean, std::vector<float> matrix);

 private:
  SpaceKind kind_ = SpaceKind::raw;
  int width_ = 0;
  int dimensions_ = 0;
  std::vector<float> mean_;    // [width]
  std::vector<float> matrix_;  // [dimensions, width]
};

}  // namespace continuo::library
