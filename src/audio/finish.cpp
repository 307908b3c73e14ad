#include "audio/finish.h"

#include <algorithm>
#include <cmath>

#include "audio/loudness.h"
#include "audio/resample.h"
#include "audio/stages.h"

namespace continuo::audio {

namespace {

std::int64_t frames_of(double seconds, int rate) { return std::llround(seconds * rate); }

LimiterOptions limiter_options(const FinishOptions& options) {
  LimiterOptions limiter;
  limiter.ceiling_db = options.ceiling_db;
  return limiter;
}

/// Everything before the loop.
Status add_preparation(Chain& chain, const FinishOptions& options, int channels, int rate) {
  if (options.gate) chain.add(std::make_unique<NoiseGate>(channels, rate, *options.gate));
  const int to_channels = options.channels.value_or(channels), to_rate = options.sample_rate.value_or(rate);
  if (to_channels != channels) chain.add(std::make_unique<ChannelMix>(channels, to_channels));
  if (to_rate != rate) {
    CONTINUO_TRY(auto resampler, stream_resampler(to_channels, rate, to_rate));
    chain.add(std::move(resampler));
  }
  if (options.keep_level) {
    RidingOptions riding = keep_level();
    riding.rest_seconds = options.level_rest;
    riding.anew = options.level_anew;
    CONTINUO_TRY(auto keeper, loudness_rider(to_channels, to_rate, riding));
    chain.add(std::move(keeper));
  }
  return {};
}

std::unique_ptr<Stage> fades(const FinishOptions& options, int channels, int rate, std::int64_t total) {
  return std::make_unique<Fades>(channels, frames_of(options.fade_in, rate), frames_of(options.fade_out, rate), total);
}

/// A loop is limited as it will be heard: after itself and before itself. Two seconds are far more than a limiter remembers.
Status limit(Sound& sound, const FinishOptions& options, FinishReport& report) {
  const std::size_t size = sound.samples.size();
  const std::size_t margin = options.loop && size > 0 ? static_cast<std::size_t>(2 * sound.sample_rate * sound.channels) : 0;
  if (margin > 0) {
    std::vector<float> around(margin + size + margin);
    const std::size_t shift = size - margin % size;
    for (std::size_t i = 0; i < around.size(); ++i) around[i] = sound.samples[(i + shift) % size];
    sound.samples = std::move(around);
  }
  Chain chain(sound.channels);
  auto stage = std::make_unique<Limiter>(sound.channels, sound.sample_rate, limiter_options(options));
  const Limiter& limiter = *stage;
  chain.add(std::move(stage));
  CONTINUO_TRY(sound.samples, chain.run(sound.samples));
  if (limiter.smallest_gain() < 1.0) report.limited_db = -gain_to_db(limiter.smallest_gain());
  sound.samples.resize(margin + size);
  sound.samples.erase(sound.samples.begin(), sound.samples.begin() + static_cast<std::ptrdiff_t>(margin));
  return {};
}

/// Brings it to the loudness that is wanted; silence stays.
Status apply_gain(Sound& sound, double target, FinishReport& report) {
  CONTINUO_TRY(const double loudness, integrated_loudness(sound));
  if (!std::isfinite(loudness)) return {};
  report.was_lufs = loudness;
  report.gain_db = target - loudness;
  const auto gain = static_cast<float>(db_to_gain(report.gain_db));
  for (float& sample : sound.samples) sample *= gain;
  return {};
}

Status check_range(double value, double least, double most, const char* what, const char* unit) {
  if (value >= least && value <= most) return {};
  return fail(ErrorCode::invalid_argument, "{} must be {:g} to {:g} {}, not {:g}", what, least, most, unit, value);
}

}  // namespace

Status check_finish(const FinishOptions& options) {
  if (options.channels && *options.channels != 1 && *options.channels != 2) {
    return fail(ErrorCode::invalid_argument, "audio can have 1 or 2 channels, not {}", *options.channels);
  }
  if (options.sample_rate) CONTINUO_CHECK(check_range(*options.sample_rate, 1000, 192'000, "a sample rate", "Hz"));
  if (options.loudness) CONTINUO_CHECK(check_range(*options.loudness, min_loudness, max_loudness, "loudness", "LUFS"));
  if (options.gate) CONTINUO_CHECK(check_range(options.gate->threshold_db, min_gate_db, max_gate_db, "a gate's threshold", "dB"));
  for (const double seconds : {options.fade_in, options.fade_out})
    CONTINUO_CHECK(check_range(seconds, 0.0, max_fade_seconds, "a fade", "seconds"));
  if (options.loop && (options.fade_in > 0.0 || options.fade_out > 0.0)) {
    return fail(ErrorCode::invalid_argument, "a loop has no beginning and no end to fade; leave out the fades or the loop");
  }
  return check_range(options.ceiling_db, -20.0, 0.0, "the ceiling", "dB");
}

std::int64_t finished_frames(std::int64_t frames, int from_rate, const FinishOptions& options) {
  const std::int64_t to = options.sample_rate.value_or(from_rate), from = from_rate;
  return (2 * frames * to + from) / (2 * from);
}

Result<Chain> finishing_chain(const FinishOptions& options, int channels, int rate, std::int64_t total) {
  CONTINUO_CHECK(check_finish(options));
  if (options.loop) return fail(ErrorCode::invalid_argument, "a loop needs the whole clip; a stream cannot become one");
  Chain chain(channels);
  chain.add(std::make_unique<Repair>());
  CONTINUO_CHECK(add_preparation(chain, options, channels, rate));
  const int to_channels = options.channels.value_or(channels), to_rate = options.sample_rate.value_or(rate);
  if (options.loudness) {
    CONTINUO_TRY(auto rider, loudness_rider(to_channels, to_rate, ride_to(*options.loudness)));
    chain.add(std::move(rider));
  }
  chain.add(std::make_unique<Limiter>(to_channels, to_rate, limiter_options(options)));
  if (options.fade_in > 0.0 || options.fade_out > 0.0)
    chain.add(fades(options, to_channels, to_rate, finished_frames(total, rate, options)));
  return chain;
}

Result<Sound> finish_sound(Sound sound, const FinishOptions& options, FinishReport* report) {
  CONTINUO_CHECK(check_finish(options));
  FinishReport unwanted;
  FinishReport& done = report != nullptr ? *report : unwanted;
  done = {};
  Chain preparation(sound.channels);
  auto repair = std::make_unique<Repair>();
  const Repair& repaired = *repair;
  preparation.add(std::move(repair));
  CONTINUO_CHECK(add_preparation(preparation, options, sound.channels, sound.sample_rate));
  const auto frames = static_cast<std::size_t>(finished_frames(sound.frames(), sound.sample_rate, options));
  CONTINUO_TRY(sound.samples,
               preparation.run(sound.samples, frames * static_cast<std::size_t>(options.channels.value_or(sound.channels))));
  done.replaced = repaired.replaced();
  sound.channels = options.channels.value_or(sound.channels);
  sound.sample_rate = options.sample_rate.value_or(sound.sample_rate);
  if (options.loop) {
    CONTINUO_TRY(Loop loop, seamless_loop(sound, *options.loop));
    sound = std::move(loop.sound);
    done.crossfade_frames = loop.crossfade;
  }
  if (options.loudness) CONTINUO_CHECK(apply_gain(sound, *options.loudness, done));
  CONTINUO_CHECK(limit(sound, options, done));
  if (done.was_lufs) {
    CONTINUO_TRY(done.is_lufs, integrated_loudness(sound));
  }
  if (options.fade_in > 0.0 || options.fade_out > 0.0) {
    Chain chain(sound.channels);
    chain.add(fades(options, sound.channels, sound.sample_rate, sound.frames()));
    CONTINUO_TRY(sound.samples, chain.run(sound.samples));
  }
  return sound;
}

}  // namespace continuo::audio
