#include "audio/loudness.h"

#include <ebur128.h>

#include <algorithm>
#include <cmath>
#include <deque>
#include <limits>
#include <numeric>

#include "audio/stages.h"

namespace continuo::audio {

namespace {

constexpr double absolute_gate = -70.0;  // LUFS, BS.1770
constexpr double relative_gate = -10.0;  // LU
constexpr unsigned long momentary_ms = 400;
constexpr int blocks_per_second = 10;
constexpr std::size_t momentary_blocks = momentary_ms * blocks_per_second / 1000;

double power_of(double loudness) { return std::pow(10.0, loudness / 10.0); }  // 0 for silence

double mean(const std::deque<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

struct Free {
  void operator()(ebur128_state* state) const { ebur128_destroy(&state); }
};
using Meter = std::unique_ptr<ebur128_state, Free>;

Result<Meter> make_meter(int channels, int rate, int mode) {
  Meter meter(ebur128_init(static_cast<unsigned>(channels), static_cast<unsigned long>(rate), mode));
  if (meter == nullptr)
    return fail(ErrorCode::unsupported, "the loudness of {} channels at {} Hz cannot be measured", channels, rate);
  return meter;
}

std::size_t frames_in(const Sound& sound) { return static_cast<std::size_t>(sound.frames()); }

double window_loudness(ebur128_state* meter, unsigned long milliseconds) {
  double loudness = -std::numeric_limits<double>::infinity();
  if (milliseconds == 0 || ebur128_loudness_window(meter, milliseconds, &loudness) != EBUR128_SUCCESS)
    return -std::numeric_limits<double>::infinity();
  return loudness;
}

std::int64_t blocks_of(double seconds) { return std::llround(seconds * blocks_per_second); }

class LoudnessRider final : public Rider {
 public:
  LoudnessRider(Meter meter, int channels, int rate, const RidingOptions& options)
      : meter_(std::move(meter)),
        rate_(rate),
        channels_(static_cast<std::size_t>(channels)),
        block_frames_(static_cast<std::size_t>(std::max(1, rate / blocks_per_second))),
        window_blocks_(static_cast<std::size_t>(std::max(4.0, options.window_seconds * blocks_per_second))),
        options_(options),
        target_(options.target_lufs),
        db_(std::clamp(options.start_db, -options.most_down_db, options.most_up_db)),
        from_(db_to_gain(db_)),
        to_(from_),
        deaf_(std::max<std::int64_t>(0, blocks_of(options.rest_seconds - options.reference_seconds))) {}

  Status push(std::span<const float> in, std::vector<float>& out) override {
    for (std::size_t i = 0; i < in.size(); i += channels_) {
      const double done = static_cast<double>(block_.size() / channels_ + 1) / static_cast<double>(block_frames_);
      const auto gain = static_cast<float>(from_ + (to_ - from_) * done);
      for (std::size_t c = 0; c < channels_; ++c) {
        block_.push_back(in[i + c]);
        out.push_back(gain * in[i + c]);
      }
      if (block_.size() == block_frames_ * channels_) CONTINUO_CHECK(listen());
    }
    return {};
  }

  Status finish(std::vector<float>&) override { return {}; }

  void listen_anew() override {
    if (options_.target_lufs) return;
    target_.reset();
    reference_.reset();
    deaf_ = std::max(deaf_, blocks_of(turning_seconds));
  }

 private:
  Status listen() {
    CONTINUO_CHECK(measure());
    block_.clear();
    from_ = to_;
    ++blocks_;
    while (changes_ < options_.anew.size() && blocks_ >= blocks_of(options_.anew[changes_])) {
      listen_anew();
      ++changes_;
    }
    if (deaf_ > 0) {
      --deaf_;
      return {};
    }
    const double now = mean(powers_);
    if (now >= power_of(absolute_gate)) follow(now);
    return {};
  }

  Status measure() {
    ebur128_add_frames_float(meter_.get(), block_.data(), block_frames_);
    powers_.push_back(power_of(window_loudness(meter_.get(), 1000 / blocks_per_second)));
    if (powers_.size() > momentary_blocks) powers_.pop_front();
    if (target_ || deaf_ > 0) return {};
    if (reference_ == nullptr) {
      CONTINUO_TRY(reference_, make_meter(static_cast<int>(channels_), rate_, EBUR128_MODE_I));
      sounding_ = 0;
      heard_.clear();
      pause_.clear();
    }
    ebur128_add_frames_float(reference_.get(), block_.data(), block_frames_);
    return {};
  }

  void follow(double now) {
    hear(now);
    if (!target_) find_reference();
    if (!target_ || !pause_.empty() || blocks_ < blocks_of(options_.rest_seconds)) return;
    const double lately = 10.0 * std::log10(mean(heard_));
    const double wanted = std::clamp(*target_ - lately, -options_.most_down_db, options_.most_up_db);
    const double most = options_.slew_db_per_second / blocks_per_second;
    db_ += std::clamp(wanted - db_, -most, most);
    to_ = db_to_gain(db_);
  }

  /// What lies far below the last seconds is a pause, and not part of them; but when it has lasted as long as they, it is the
  /// music.
  void hear(double now) {
    if (!heard_.empty() && now < mean(heard_) * std::pow(10.0, relative_gate / 10.0)) {
      pause_.push_back(now);
      if (pause_.size() < window_blocks_) return;
      heard_.swap(pause_);
    } else {
      heard_.push_back(now);
      if (heard_.size() > window_blocks_) heard_.pop_front();
    }
    pause_.clear();
  }

  void find_reference() {
    if (static_cast<double>(++sounding_) < options_.reference_seconds * blocks_per_second) return;
    double loudness = 0.0;
    if (ebur128_loudness_global(reference_.get(), &loudness) != EBUR128_SUCCESS || !std::isfinite(loudness)) return;
    target_ = loudness;
    reference_.reset();
  }

  Meter meter_;
  Meter reference_;  // while there is no target
  int rate_;
  std::size_t channels_, block_frames_, window_blocks_;
  RidingOptions options_;
  std::optional<double> target_;
  double db_, from_, to_;  // the gain as decibels; at the begin and the end of the present block
  std::int64_t blocks_ = 0;
  std::int64_t deaf_;          // blocks that count for nothing yet
  std::size_t changes_ = 0;    // of options_.anew, those that have passed
  std::int64_t sounding_ = 0;  // blocks that were not silent, until the reference is known
  std::vector<float> block_;
  // Powers, which average where decibels do not. libebur128 is not asked for long windows: for one beyond 3 s, version 1.2.6
  // takes a thousand times the memory (ebur128_set_max_window takes milliseconds for seconds).
  std::deque<double> powers_;         // of the last blocks, those of 0.4 s
  std::deque<double> heard_, pause_;  // of the 0.4 s up to each of the last blocks
};

}  // namespace

Result<double> integrated_loudness(const Sound& sound) {
  CONTINUO_TRY(const Meter meter, make_meter(sound.channels, sound.sample_rate, EBUR128_MODE_I));
  if (ebur128_add_frames_float(meter.get(), sound.samples.data(), frames_in(sound)) != EBUR128_SUCCESS) {
    return fail(ErrorCode::io, "not enough memory to measure loudness");
  }
  const std::int64_t milliseconds = sound.frames() * 1000 / sound.sample_rate;
  if (milliseconds < static_cast<std::int64_t>(momentary_ms)) {
    const double loudness = window_loudness(meter.get(), static_cast<unsigned long>(milliseconds));
    return loudness >= absolute_gate ? loudness : -std::numeric_limits<double>::infinity();
  }
  double loudness = 0.0;
  ebur128_loudness_global(meter.get(), &loudness);
  return loudness;
}

Result<double> true_peak(const Sound& sound) {
  CONTINUO_TRY(const Meter meter, make_meter(sound.channels, sound.sample_rate, EBUR128_MODE_TRUE_PEAK));
  if (ebur128_add_frames_float(meter.get(), sound.samples.data(), frames_in(sound)) != EBUR128_SUCCESS) {
    return fail(ErrorCode::io, "not enough memory to measure peaks");
  }
  double most = 0.0;
  for (int channel = 0; channel < sound.channels; ++channel) {
    double peak = 0.0;
    ebur128_true_peak(meter.get(), static_cast<unsigned>(channel), &peak);
    most = std::max(most, peak);
  }
  return most;
}

RidingOptions ride_to(double target_lufs) {
  RidingOptions options;
  options.target_lufs = target_lufs;
  return options;
}

RidingOptions keep_level() {
  RidingOptions options;
  options.window_seconds = 10.0;  // a verse may be softer than a chorus
  options.most_up_db = options.most_down_db = 6.0;
  options.slew_db_per_second = 0.5;
  return options;
}

Result<std::unique_ptr<Rider>> loudness_rider(int channels, int rate, const RidingOptions& options) {
  CONTINUO_TRY(Meter meter, make_meter(channels, rate, EBUR128_MODE_M));
  return std::make_unique<LoudnessRider>(std::move(meter), channels, rate, options);
}

}  // namespace continuo::audio
