// continuo check: what is wrong with an audio file.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <nlohmann/json.hpp>

#include "audio/check.h"
#include "cli/command.h"
#include "cli/numbers.h"

namespace continuo::cli {

namespace {

constexpr double most_seconds = 24 * 3600.0;
constexpr std::int64_t most_samples = std::int64_t{1} << 40;

double decibels(double value) { return 20.0 * std::log10(std::max(value, 1e-10)); }

void print_json(const std::string& path, const audio::CheckReport& report) {
  nlohmann::ordered_json levels = nlohmann::ordered_json::array(), faults = nlohmann::ordered_json::array();
  for (const audio::ChannelLevel& level : report.levels) {
    levels.push_back(
        {{"peak", level.peak}, {"rms", level.rms}, {"dc", level.dc}, {"over", level.over}, {"not_finite", level.not_finite}});
  }
  for (const audio::Fault& fault : report.faults) {
    faults.push_back({{"kind", audio::fault_name(fault.kind)},
                      {"seconds", fault.seconds},
                      {"length", fault.length},
                      {"channel", fault.channel < 0 ? nlohmann::ordered_json() : nlohmann::ordered_json(fault.channel + 1)},
                      {"severity", fault.severity},
                      {"count", fault.count},
                      {"what", fault.what},
                      {"advice", audio::fault_advice(fault.kind)}});
  }
  nlohmann::ordered_json phase;
  if (report.phase) {
    phase = {{"score", report.phase->score},
             {"worst", report.phase->worst},
             {"worst_seconds", report.phase->worst_seconds},
             {"tonal_seconds", report.phase->tonal_seconds}};
  }
  const nlohmann::ordered_json json{{"path", path},
                                    {"passed", report.faults.empty()},
                                    {"samples", report.frames},
                                    {"channels", report.channels},
                                    {"sample_rate", report.sample_rate},
                                    {"seconds", static_cast<double>(report.frames) / report.sample_rate},
                                    {"levels", levels},
                                    {"phase_continuity", phase},
                                    {"faults", faults}};
  std::printf("%s\n", json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace).c_str());
}

std::string channel_name(int channel, int channels) {
  if (channel < 0) return "";
  if (channels == 2) return channel == 0 ? "left, " : "right, ";
  return fmt::format("channel {}, ", channel + 1);
}

bool is_about_the_whole(audio::FaultKind kind) {
  return kind == audio::FaultKind::dc_offset || kind == audio::FaultKind::silence || kind == audio::FaultKind::length;
}

void print_text(const std::string& path, const audio::CheckReport& report) {
  std::string text = fmt::format("{}  {:.3f} s ({} samples), {} channel{}, {} Hz\n", path,
                                 static_cast<double>(report.frames) / report.sample_rate, report.frames, report.channels,
                                 report.channels == 1 ? "" : "s", report.sample_rate);
  for (std::size_t c = 0; c < report.levels.size(); ++c) {
    const audio::ChannelLevel& level = report.levels[c];
    text += fmt::format("  level: {}peak {:.1f} dB, RMS {:.1f} dB, offset {:+.4f}{}\n",
                        report.channels == 1 ? "" : channel_name(static_cast<int>(c), report.channels), decibels(level.peak),
                        decibels(level.rms), level.dc,
                        level.over == 0 ? "" : fmt::format(", {} samples beyond full scale", level.over));
  }
  if (report.phase) {
    text += fmt::format("  phase continuity: {:.3f}; worst {:.2f} at {:.2f} s; {:.1f} s of sustained tones\n",
                        report.phase->score, report.phase->worst, report.phase->worst_seconds, report.phase->tonal_seconds);
  } else {
    text += "  phase continuity: nothing to judge, no tone is sustained\n";
  }
  for (const audio::Fault& fault : report.faults) {
    text += fmt::format("  {}: {}{}{}; {}\n", audio::fault_name(fault.kind), channel_name(fault.channel, report.channels),
                        is_about_the_whole(fault.kind) ? "" : fmt::format("at {:.4f} s: ", fault.seconds), fault.what,
                        audio::fault_advice(fault.kind));
  }
  if (report.faults.empty()) text += "  no faults\n";
  std::fputs(text.c_str(), stdout);
}

std::int64_t fault_count(const audio::CheckReport& report) {
  std::map<std::pair<audio::FaultKind, int>, std::int64_t> counts;
  for (const audio::Fault& fault : report.faults) counts[{fault.kind, fault.channel}] = fault.count;
  std::int64_t sum = 0;
  for (const auto& [kind, count] : counts) sum += count;
  return sum;
}

Status run(const Arguments& arguments, const Context&) {
  const std::string& path = arguments.positionals().front();
  const auto samples = arguments.value("samples"), length = arguments.value("length");
  if (samples && length) return fail(ErrorCode::invalid_argument, "--samples and --length both say how long; give one of them");
  audio::CheckOptions options;
  if (samples) {
    CONTINUO_TRY(options.frames, parse_integer(*samples, "--samples", 1, most_samples));
  }
  double seconds = 0.0;
  if (length) {
    CONTINUO_TRY(seconds, parse_number(*length, "--length", 1e-6, most_seconds));
  }
  CONTINUO_TRY(const audio::Sound sound, audio::read_for_check(path));
  if (length) options.frames = std::llround(seconds * sound.sample_rate);
  CONTINUO_TRY(const audio::CheckReport report, audio::check_sound(sound, options));
  if (arguments.has("json")) {
    print_json(path, report);
  } else {
    print_text(path, report);
  }
  const std::int64_t faults = fault_count(report);
  if (faults == 0) return {};
  return fail(ErrorCode::unsupported, "{} has {} fault{}; see above", path, faults, faults == 1 ? "" : "s");
}

}  // namespace

Command check_command() {
  Command command{"check", "look for faults in an audio file: clicks, clipping, holes and others"};
  command.positionals = {"FILE", "any audio file that FFmpeg reads", 1, 1};
  command.options = {
      {"--json", "", "print one JSON object"},
      {"--length", "SECONDS", "the length it must have, to the sample"},
      {"--samples", "N", "the same in samples of one channel"},
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
