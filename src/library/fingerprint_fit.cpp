// Finding the space: the part of FingerprintSpace that needs FAISS. The readers of files do without.
#include <faiss/VectorTransform.h>
#include <algorithm>
#include <cmath>
#include <exception>

#include "library/fingerprint_space.h"
#include "library/single_thread.h"

namespace continuo::library {

Result<FingerprintSpace> FingerprintSpace::fit(std::span<const float> fingerprints, int width, SpaceKind kind, int dimensions) {
  if (width < 1 || fingerprints.empty() || fingerprints.size() % static_cast<std::size_t>(width) != 0) {
    return fail(ErrorCode::invalid_argument, "{} values are no fingerprints of {} values each", fingerprints.size(), width);
  }
  if (!std::all_of(fingerprints.begin(), fingerprints.end(), [](float value) { return std::isfinite(value); })) {
    return fail(ErrorCode::invalid_argument, "a reference fingerprint has a value that is not finite");
  }
  const auto columns = static_cast<std::size_t>(width), rows = fingerprints.size() / columns;
  std::vector<double> sum(columns);
  for (std::size_t i = 0; i < fingerprints.size(); ++i) sum[i % columns] += fingerprints[i];
  std::vector<float> mean(columns), matrix;
  if (kind != SpaceKind::raw) {
    for (std::size_t i = 0; i < columns; ++i) mean[i] = static_cast<float>(sum[i] / static_cast<double>(rows));
  }
  if (kind == SpaceKind::whitened) {
    const auto most = static_cast<int>(std::min(columns, (rows - 1) / 2));
    dimensions = std::min(dimensions, most);
    if (dimensions < 1) {
      return fail(ErrorCode::invalid_argument, "the spread of fingerprints cannot be estimated from {} of them", rows);
    }
    try {
      const SingleThread single;
      faiss::PCAMatrix pca(width, dimensions, -0.5F);
      pca.train(static_cast<faiss::Index::idx_t>(rows), fingerprints.data());
      matrix.assign(pca.A.begin(), pca.A.begin() + static_cast<std::ptrdiff_t>(dimensions) * width);
    } catch (const std::exception& error) {
      return fail(ErrorCode::unsupported, "the principal directions of the fingerprints could not be found: {}", error.what());
    }
  }
  auto space = from_parts(kind, std::move(mean), std::move(matrix));
  if (!space) return fail(ErrorCode::invalid_argument, "the reference fingerprints are too much alike to tell prompts apart");
  return space;
}

}  // namespace continuo::library
