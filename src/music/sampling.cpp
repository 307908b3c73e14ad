#include "music/sampling.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

namespace continuo::music {

namespace {

/// Probabilities below the k-th largest become zero; those equal to it stay.
void keep_top_k(std::vector<double>& probabilities, int k) {
  if (k >= static_cast<int>(probabilities.size())) return;
  std::vector<double> sorted = probabilities;
  std::nth_element(sorted.begin(), sorted.begin() + (k - 1), sorted.end(), std::greater<>());
  const double threshold = sorted[static_cast<std::size_t>(k - 1)];
  for (double& p : probabilities) {
    if (p < threshold) p = 0.0;
  }
}

/// Keeps the likeliest tokens until their sum reaches p; the one that crosses p is the last kept.
void keep_top_p(std::vector<double>& probabilities, double p) {
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return probabilities[a] > probabilities[b]; });
  double before = 0.0;
  for (const std::size_t index : order) {
    const double own = probabilities[index];
    if (before > p) probabilities[index] = 0.0;
    before += own;
  }
}

}  // namespace

void apply_guidance(std::span<float> conditional, std::span<const float> null, float guidance) {
  for (std::size_t i = 0; i < conditional.size(); ++i) conditional[i] = null[i] + guidance * (conditional[i] - null[i]);
}

std::optional<int> sample(std::span<const float> logits, const SamplingParams& params, double uniform) {
  for (const float logit : logits) {
    if (!std::isfinite(logit)) return std::nullopt;
  }
  const auto top = std::max_element(logits.begin(), logits.end());  // the first of equals, as argmax elsewhere
  if (params.greedy || params.temperature == 0.0F) return static_cast<int>(top - logits.begin());

  std::vector<double> probabilities(logits.size());
  double sum = 0.0;
  for (std::size_t i = 0; i < logits.size(); ++i) {
    probabilities[i] = std::exp((static_cast<double>(logits[i]) - *top) / params.temperature);
    sum += probabilities[i];
  }
  for (double& p : probabilities) p /= sum;
  if (params.top_p > 0.0F) {
    keep_top_p(probabilities, params.top_p);
  } else if (params.top_k > 0) {
    keep_top_k(probabilities, params.top_k);
  }
  const double kept = std::accumulate(probabilities.begin(), probabilities.end(), 0.0);
  const double target = uniform * kept;
  double reached = 0.0;
  int last = 0;
  for (std::size_t i = 0; i < probabilities.size(); ++i) {
    if (probabilities[i] == 0.0) continue;
    reached += probabilities[i];
    last = static_cast<int>(i);
    if (reached > target) break;
  }
  return last;
}

}  // namespace continuo::music
