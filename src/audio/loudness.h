// Loudness after ITU-R BS.1770 and EBU R 128, by libebur128, in LUFS. One channel counts as one loudspeaker: the same sound twice
// is 3 LU louder.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "audio/stage.h"
#include "audio/wav.h"

namespace continuo::audio {

/// Of the whole: minus infinity for silence. A sound shorter than 0.4 s, the standard's shortest block, is measured as one block.
Result<double> integrated_loudness(const Sound& sound);

/// The largest amplitude, between the samples too; 1 is full scale.
Result<double> true_peak(const Sound& sound);

struct RidingOptions {
  /// Without one: the loudness that the first `reference_seconds` (that are not silent) have.
  std::optional<double> target_lufs;
  double reference_seconds = 6.0;
  double window_seconds = 3.0;  // over which it listens
  double most_up_db = 20.0, most_down_db = 40.0;
  double slew_db_per_second = 2.0;  // the gain never changes faster
  double start_db = 0.0;            // a gain known from before; nothing is known yet when the first samples pass
  // Of a reference that is found:
  /// The gain rests for so long: a recording that is continued. The reference is what it had at its end.
  double rest_seconds = 0.0;
  /// Seconds at which something else begins, rising: see Rider::listen_anew().
  std::vector<double> anew;
};

/// What is meant to sound different turns into it within this time.
inline constexpr double turning_seconds = 2.0;

/// For a stream, whose loudness as a whole is not known in time: a gain that moves slowly to where the last seconds would have
/// the target. It adds no delay: ten times a second it listens, and the gain is on its way there during the next tenth. It stays
/// where it is in silence (below -70 LUFS), and in pauses, which are softer than the last seconds by 10 LU (the standard's own
/// gates); a pause that lasts as long as they did is softer music. It can raise peaks above full scale, so a limiter comes behind
/// it.
RidingOptions ride_to(double target_lufs);
/// For long pieces that drift louder or softer: keeps what the first seconds had, within 6 dB, by at most half a dB a second.
RidingOptions keep_level();

class Rider : public Stage {
 public:
  /// Something else begins, such as another prompt, which has a loudness of its own: after turning_seconds a reference is found
  /// anew; meanwhile the gain rests. Nothing where a target was given.
  virtual void listen_anew() = 0;
};

Result<std::unique_ptr<Rider>> loudness_rider(int channels, int rate, const RidingOptions& options);

}  // namespace continuo::audio
