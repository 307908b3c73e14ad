#include "library/fingerprint_space.h"

#include <faiss/VectorTransform.h>
#include <algorithm>
#include <cmath>
#include <exception>

namespace continuo::library {

namespace {

bool all_finite(std::span<const float> values) {
  return std::all_of(values.begin(), values.end(), [](float value) { return std::isfinite(value); });
}

}  // namespace

Result<FingerprintSpace> FingerprintSpace::from_parts(SpaceKind kind, std::vector<float> mean, std::vector<float> matrix) {
  const bool fits =
      kind == SpaceKind::whitened ? !matrix.empty() && !mean.empty() && matrix.size() % mean.size() == 0 : matrix.empty();
  if (mean.empty() || !fits || !all_finite(mean) || !all_finite(matrix)) {
    return fail(ErrorCode::corrupt_file, "the parts of the space of fingerprints do not fit together");
  }
  FingerprintSpace space;
  space.kind_ = kind;
  space.width_ = static_cast<int>(mean.size());
  space.dimensions_ = kind == SpaceKind::whitened ? static_cast<int>(matrix.size() / mean.size()) : space.width_;
  space.mean_ = std::move(mean);
  space.matrix_ = std::move(matrix);
  return space;
}

Result<std::vector<float>> FingerprintSpace::project(std::span<const float> fingerprint) const {
  if (fingerprint.size() != mean_.size()) {
    return fail(ErrorCode::invalid_argument, "a fingerprint of {} values in a space for {}", fingerprint.size(), mean_.size());
  }
  if (!all_finite(fingerprint)) return fail(ErrorCode::invalid_argument, "the fingerprint has a value that is not finite");
  std::vector<float> centred(mean_.size());
  for (std::size_t i = 0; i < centred.size(); ++i) centred[i] = fingerprint[i] - mean_[i];
  std::vector<float> out(static_cast<std::size_t>(dimensions_));
  if (kind_ == SpaceKind::whitened) {
    for (std::size_t d = 0; d < out.size(); ++d) {
      double sum = 0.0;
      for (std::size_t i = 0; i < centred.size(); ++i) sum += static_cast<double>(matrix_[d * centred.size() + i]) * centred[i];
      out[d] = static_cast<float>(sum);
    }
  } else {
    out = std::move(centred);
  }
  double square = 0.0;
  for (const float value : out) square += static_cast<double>(value) * value;
  const double scale = square > 1e-20 ? 1.0 / std::sqrt(square) : 0.0;
  for (float& value : out) value = static_cast<float>(value * scale);
  return out;
}

}  // namespace continuo::library
