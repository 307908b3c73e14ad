// Weight normalisation (Salimans and Kingma, 2016) as PyTorch applies it to convolutions: w = g v / ||v||, with one g and one
// norm for each index of dimension 0. For a transposed convolution that is the input channel.
#pragma once

#include <cstdint>
#include <span>

namespace continuo::weights {

/// Replaces v by g v / ||v||. v: [rows, ...], g: [rows]; computed in double, rounded once. A row of zeros becomes NaN, as the
/// formula says: the caller refuses values that are not finite.
void fold_weight_norm(std::span<float> v, std::span<const float> g);

}  // namespace continuo::weights
