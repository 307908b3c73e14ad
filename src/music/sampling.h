// From logits to a code: guidance, then temperature, then softmax, then top-p (if > 0) or top-k (if > 0), then one draw, in the
// order of audiocraft's sampler. Ties at the k-th value stay; the token that crosses p stays. The draw is a function of
// a uniform number that the caller counts, so nothing here has state.
#pragma once

#include <optional>
#include <span>

namespace continuo::music {

struct SamplingParams {
  bool greedy = false;
  float temperature = 1.0F;  // 0 is greedy
  int top_k = 0;             // 0: no cut
  float top_p = 0.0F;        // > 0 replaces top_k
};

/// logits = null + guidance * (conditional - null), in place of `conditional` (classifier-free guidance).
void apply_guidance(std::span<float> conditional, std::span<const float> null, float guidance);

/// The index drawn; uniform is in [0, 1). nullopt if a logit is not finite: the model or its numbers are broken.
std::optional<int> sample(std::span<const float> logits, const SamplingParams& params, double uniform);

}  // namespace continuo::music
