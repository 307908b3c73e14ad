#include "weights/model_config.h"

namespace continuo::weights {

int CodecConfig::hop() const {
  int product = 1;
  for (const int ratio : ratios) product *= ratio;
  return product;
}

double CodecConfig::frame_rate() const { return static_cast<double>(sample_rate) / hop(); }

std::vector<int> default_delays(int codebooks, int audio_channels) {
  std::vector<int> delays;
  for (int k = 0; k < codebooks; ++k) delays.push_back(k / audio_channels);
  return delays;
}

}  // namespace continuo::weights
