// The stages that need no look-ahead: repair, channels, gain, fades.
#pragma once

#include <cstdint>

#include "audio/stage.h"

namespace continuo::audio {

double db_to_gain(double db);
double gain_to_db(double gain);

/// Samples that are not finite become 0, and are counted. The first stage of a chain: one such sample would spoil the filters and
/// the measures behind it for good.
class Repair : public Stage {
 public:
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>&) override { return {}; }
  std::int64_t replaced() const { return replaced_; }

 private:
  std::int64_t replaced_ = 0;
};

/// One channel to two: the same twice, at the same level. Two to one: their mean, which cannot exceed full scale.
class ChannelMix : public Stage {
 public:
  ChannelMix(int from, int to) : from_(from), to_(to) {}
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>&) override { return {}; }

 private:
  int from_, to_;
};

class Gain : public Stage {
 public:
  explicit Gain(double gain) : gain_(static_cast<float>(gain)) {}
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>&) override { return {}; }

 private:
  float gain_;
};

/// Half a cosine up from silence over the first frames, and down to it over the last. Where they overlap both count. The end is
/// where `total` frames say it is; what comes after that is silent.
class Fades : public Stage {
 public:
  /// All in frames; total is only needed to fade out.
  Fades(int channels, std::int64_t in, std::int64_t out, std::int64_t total)
      : channels_(channels), in_(in), out_(out), total_(total) {}
  Status push(std::span<const float> in, std::vector<float>& out) override;
  Status finish(std::vector<float>&) override { return {}; }

 private:
  float gain_at(std::int64_t frame) const;

  int channels_;
  std::int64_t in_, out_, total_, at_ = 0;
};

}  // namespace continuo::audio
