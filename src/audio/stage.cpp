#include "audio/stage.h"

#include <algorithm>

namespace continuo::audio {

Result<std::vector<float>> Chain::push(std::span<const float> interleaved) {
  if (interleaved.size() % static_cast<std::size_t>(channels_) != 0) {
    return fail(ErrorCode::invalid_argument, "{} samples are no whole number of frames of {} channels", interleaved.size(),
                channels_);
  }
  std::vector<float> samples(interleaved.begin(), interleaved.end()), out;
  for (const auto& stage : stages_) {
    out.clear();
    CONTINUO_CHECK(stage->push(samples, out));
    samples.swap(out);
  }
  return samples;
}

Result<std::vector<float>> Chain::finish() {
  std::vector<float> samples, out;
  for (const auto& stage : stages_) {
    out.clear();
    CONTINUO_CHECK(stage->push(samples, out));
    CONTINUO_CHECK(stage->finish(out));
    samples.swap(out);
  }
  return samples;
}

Result<std::vector<float>> Chain::run(std::span<const float> interleaved, std::size_t expected) {
  const std::size_t piece = static_cast<std::size_t>(channels_) << 14;  // frames that fit a cache
  std::vector<float> whole;
  whole.reserve(std::max(expected, interleaved.size()));  // growing would take twice the memory
  for (std::size_t at = 0; at < interleaved.size(); at += piece) {
    CONTINUO_TRY(const auto part, push(interleaved.subspan(at, std::min(piece, interleaved.size() - at))));
    whole.insert(whole.end(), part.begin(), part.end());
  }
  CONTINUO_TRY(const auto rest, finish());
  whole.insert(whole.end(), rest.begin(), rest.end());
  return whole;
}

}  // namespace continuo::audio
