#include "audio/check.h"

#include <algorithm>
#include <cmath>

#include "audio/check_parts.h"
#include "audio/media.h"
#include "base/file.h"

namespace continuo::audio {

namespace {

constexpr float full_scale = 32767.0F / 32768.0F;  // the largest value of 16 bits; 24 bits and floats reach higher
constexpr std::size_t clipped_run = 3;             // one or two samples at full scale are a peak that just fits
constexpr double silent_peak = 1e-3;               // -60 dB
constexpr double dc_limit = 0.01;                  // -40 dB
constexpr double dc_block_seconds = 0.25;
constexpr double least_rate = 8'000, most_rate = 192'000;

double decibels(double value) { return 20.0 * std::log10(std::max(value, 1e-10)); }

ChannelLevel level_of(std::span<const float> samples) {
  ChannelLevel level;
  double sum = 0.0, square = 0.0;
  for (const float sample : samples) {
    if (!std::isfinite(sample)) {
      ++level.not_finite;
      continue;
    }
    const double size = std::abs(sample);
    level.peak = std::max(level.peak, size);
    level.over += size > 1.0 ? 1 : 0;
    sum += sample;
    square += size * size;
  }
  const double finite = static_cast<double>(samples.size()) - static_cast<double>(level.not_finite);
  if (finite > 0.0) {
    level.dc = sum / finite;
    level.rms = std::sqrt(square / finite);
  }
  return level;
}

/// Puts the straight line between the nearest finite samples in place of those that are not. Returns their places.
std::vector<std::size_t> mend(std::vector<float>& samples) {
  std::vector<std::size_t> mended;
  for (std::size_t i = 0; i < samples.size(); ++i) {
    if (std::isfinite(samples[i])) continue;
    std::size_t end = i;
    while (end < samples.size() && !std::isfinite(samples[end])) ++end;
    const float right = end < samples.size() ? samples[end] : i > 0 ? samples[i - 1] : 0.0F;
    const float left = i > 0 ? samples[i - 1] : right;
    for (std::size_t k = i; k < end; ++k) {
      const float part = static_cast<float>(k - i + 1) / static_cast<float>(end - i + 1);
      samples[k] = left + (right - left) * part;
      mended.push_back(k);
    }
    i = end;
  }
  return mended;
}

std::vector<Fault> find_not_finite(const CheckedChannel& channel) {
  std::vector<Fault> faults;
  const auto& places = channel.mended;
  for (std::size_t i = 0, end = 0; i < places.size(); i = end) {
    end = i + 1;
    while (end < places.size() && places[end] == places[end - 1] + 1) ++end;
    Fault fault{FaultKind::not_a_number, channel.seconds(places[i]), channel.seconds(end - i)};
    fault.severity = static_cast<double>(end - i);
    fault.what = fmt::format("{} sample{} not a finite number", end - i, end - i == 1 ? " is" : "s are");
    faults.push_back(std::move(fault));
  }
  return faults;
}

std::vector<Fault> find_clipping(const CheckedChannel& channel) {
  std::vector<Fault> faults;
  const auto& samples = channel.samples;
  for (std::size_t i = 0, end = 0; i < samples.size(); i = end + 1) {
    end = i;
    float top = 0.0F;
    while (end < samples.size() && std::abs(samples[end]) >= full_scale && (samples[end] > 0) == (samples[i] > 0)) {
      top = std::max(top, std::abs(samples[end++]));
    }
    if (end == i) continue;
    if (end - i >= clipped_run) {
      Fault fault{FaultKind::clipping, channel.seconds(i), channel.seconds(end - i)};
      fault.severity = static_cast<double>(end - i);
      fault.what = fmt::format("{} samples in a row at full scale{}", end - i,
                               top > 1.0F ? fmt::format(" or beyond, up to {:+.1f} dB", decibels(top)) : "");
      faults.push_back(std::move(fault));
    }
    --end;  // the sample after a run may begin one of the other sign
  }
  return faults;
}

/// The mean must be large and also steady: a deep tone's mean over a short file is neither.
std::vector<Fault> find_dc(const CheckedChannel& channel, const ChannelLevel& level) {
  if (std::abs(level.dc) < dc_limit) return {};
  const auto block = std::min(channel.milliseconds(1000.0 * dc_block_seconds), channel.samples.size());
  std::size_t same = 0, blocks = 0;
  for (std::size_t at = 0; at + block <= channel.samples.size(); at += block) {
    double sum = 0.0;
    for (const float sample : channel.samples.subspan(at, block)) sum += sample;
    const double mean = sum / static_cast<double>(block);
    same += mean * level.dc > 0.0 && std::abs(mean) >= 0.5 * std::abs(level.dc) ? 1 : 0;
    ++blocks;
  }
  if (10 * same < 7 * blocks) return {};
  Fault fault{FaultKind::dc_offset};
  fault.severity = std::abs(level.dc);
  fault.what = fmt::format("a constant offset of {:+.3f} ({:.0f} dB)", level.dc, decibels(std::abs(level.dc)));
  return {fault};
}

/// The worst first; how many there are is said by each; then by place.
void add(std::vector<Fault>& all, std::vector<Fault> found, int channel) {
  const auto count = static_cast<std::int64_t>(found.size());
  std::stable_sort(found.begin(), found.end(), [](const Fault& a, const Fault& b) { return a.severity > b.severity; });
  if (found.size() > max_faults_listed) found.resize(max_faults_listed);
  for (Fault& fault : found) {
    fault.channel = channel;
    fault.count = count;
    all.push_back(std::move(fault));
  }
}

void check_silence(const CheckReport& report, std::vector<Fault>& faults) {
  const auto silent = [](const ChannelLevel& level) { return level.peak < silent_peak; };
  const bool all = std::all_of(report.levels.begin(), report.levels.end(), silent);
  for (int c = 0; c < report.channels; ++c) {
    const ChannelLevel& level = report.levels[static_cast<std::size_t>(c)];
    if (!silent(level) || (all && c > 0)) continue;
    Fault fault{FaultKind::silence};
    fault.channel = all ? -1 : c;
    fault.what = level.peak == 0.0 ? "no sound at all" : fmt::format("nothing above {:.0f} dB", decibels(level.peak));
    faults.push_back(std::move(fault));
  }
}

void check_length(const CheckReport& report, const CheckOptions& options, std::vector<Fault>& faults) {
  if (!options.frames || *options.frames == report.frames) return;
  Fault fault{FaultKind::length, static_cast<double>(std::min(report.frames, *options.frames)) / report.sample_rate};
  fault.severity = std::abs(static_cast<double>(report.frames - *options.frames));
  fault.what = fmt::format("{} samples instead of {}: {} too {}", report.frames, *options.frames, fault.severity,
                           report.frames > *options.frames ? "many" : "few");
  faults.push_back(std::move(fault));
}

}  // namespace

std::size_t CheckedChannel::milliseconds(double ms) const {
  return std::max<std::size_t>(1, static_cast<std::size_t>(std::lround(ms * sample_rate / 1000.0)));
}

bool CheckedChannel::near_mended(std::size_t at, std::size_t distance) const {
  const auto next = std::lower_bound(mended.begin(), mended.end(), at > distance ? at - distance : 0);
  return next != mended.end() && *next <= at + distance;
}

std::string_view fault_name(FaultKind kind) {
  switch (kind) {
    case FaultKind::click: return "click";
    case FaultKind::clipping: return "clipping";
    case FaultKind::not_a_number: return "nan";
    case FaultKind::dc_offset: return "dc";
    case FaultKind::dropout: return "dropout";
    case FaultKind::stuck: return "stuck";
    case FaultKind::phase_jump: return "phase";
    case FaultKind::silence: return "silence";
    case FaultKind::length: return "length";
  }
  return "";
}

std::string_view fault_advice(FaultKind kind) {
  switch (kind) {
    case FaultKind::click: return "if something was joined or cut there, let the two sides overlap and fade for 10 ms";
    case FaultKind::clipping: return "lower the level before the file is written as integers, or write 32-bit floats";
    case FaultKind::not_a_number: return "whatever made the file computed something impossible; make it again";
    case FaultKind::dc_offset: return "subtract the offset, or use a high-pass filter below 20 Hz";
    case FaultKind::dropout: return "a buffer was lost or written too late; make or record it again";
    case FaultKind::stuck: return "a buffer was lost and its last sample held; make or record it again";
    case FaultKind::phase_jump: return "two takes were joined without matching their phase; move the join or crossfade longer";
    case FaultKind::silence: return "see that the right input, channel or level was used";
    case FaultKind::length: return "see where samples were added or lost";
  }
  return "";
}

Result<CheckReport> check_sound(const Sound& sound, const CheckOptions& options) {
  if (sound.frames() == 0) return fail(ErrorCode::invalid_argument, "there are no samples to check");
  if (sound.sample_rate < least_rate || sound.sample_rate > most_rate) {
    return fail(ErrorCode::unsupported, "a sample rate of {} Hz cannot be checked; 8000 to 192000 can", sound.sample_rate);
  }
  CheckReport report{sound.frames(), sound.channels, sound.sample_rate, {}, {}, {}};
  const auto channels = static_cast<std::size_t>(sound.channels), frames = static_cast<std::size_t>(sound.frames());
  double tonal = 0.0, scores = 0.0;
  std::vector<float> samples(frames);
  for (std::size_t c = 0; c < channels; ++c) {
    for (std::size_t i = 0; i < frames; ++i) samples[i] = sound.samples[i * channels + c];
    report.levels.push_back(level_of(samples));
    const std::vector<std::size_t> mended = mend(samples);
    const CheckedChannel channel{samples, mended, sound.sample_rate};
    const int number = channels == 1 ? -1 : static_cast<int>(c);
    add(report.faults, find_not_finite(channel), number);
    add(report.faults, find_clipping(channel), number);
    add(report.faults, find_dc(channel, report.levels.back()), number);
    add(report.faults, find_dropouts(channel), number);
    add(report.faults, find_clicks(channel), number);
    CONTINUO_TRY(PhaseFinding phase, check_phase(channel));
    add(report.faults, std::move(phase.faults), number);
    if (!phase.continuity) continue;
    if (!report.phase) report.phase = PhaseContinuity{};
    tonal += phase.continuity->tonal_seconds;
    scores += phase.continuity->tonal_seconds * phase.continuity->score;
    report.phase->tonal_seconds = std::max(report.phase->tonal_seconds, phase.continuity->tonal_seconds);
    if (phase.continuity->worst < report.phase->worst) {
      report.phase->worst = phase.continuity->worst;
      report.phase->worst_seconds = phase.continuity->worst_seconds;
    }
  }
  if (report.phase) report.phase->score = scores / tonal;
  check_silence(report, report.faults);
  check_length(report, options, report.faults);
  std::stable_sort(report.faults.begin(), report.faults.end(),
                   [](const Fault& a, const Fault& b) { return a.seconds < b.seconds; });
  return report;
}

Result<Sound> read_for_check(const std::string& path) {
  CONTINUO_TRY(const MappedFile file, MappedFile::open(path));
  const MediaLimits limits{.seconds = 3600.0, .samples = std::size_t{1} << 28};
  if (file.bytes().size() / sizeof(float) > limits.samples) return read_media(path, limits);
  Result<Sound> wav = decode_wav(file.bytes(), path);
  const auto text = [&](std::size_t at) { return std::string_view(reinterpret_cast<const char*>(file.bytes().data()) + at, 4); };
  const bool is_wav = file.bytes().size() >= 12 && text(0) == "RIFF" && text(8) == "WAVE";
  if (wav || (is_wav && wav.error().code == ErrorCode::corrupt_file)) {
    if (wav && wav->frames() == 0) return fail(ErrorCode::corrupt_file, "{} holds no samples", path);
    return wav;
  }
  return read_media(path, limits);
}

}  // namespace continuo::audio
