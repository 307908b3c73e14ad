#include "music/delay_pattern.h"

namespace continuo::music {

int DelayPattern::frame_written(int step, int k) const {
  const int frame = step - delays_[static_cast<std::size_t>(k)];
  return frame >= 0 && frame < frames_ ? frame : -1;
}

}  // namespace continuo::music
