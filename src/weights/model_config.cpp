#include "weights/model_config.h"

namespace continuo::weights {

int CodecConfig::hop() const {
  int product = 1;
  for (const int ratio : ratios) product *= ratio;
  return product;
}

double CodecConfig::frame_rate() const { return static_cast<double>(sample_rate) / hop(); }

}  // namespace continuo::weights
