#include "cli/finish.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cstdio>
#include <filesystem>

#include "audio/resample.h"
#include "cli/numbers.h"

namespace continuo::cli {

namespace {

constexpr double missed_lu = 0.5;  // worth a note

Result<audio::FileFormat> format_of_name(const std::string& path) {
  std::string ending = std::filesystem::path(path).extension();
  std::transform(ending.begin(), ending.end(), ending.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static constexpr std::array<std::string_view, 5> others{".aac", ".aiff", ".aif", ".wma", ".webm"};
  if (std::find(others.begin(), others.end(), ending) != others.end()) {
    return fail(ErrorCode::unsupported, "{}: such files cannot be written; choose .wav, .flac, .mp3, .m4a, .ogg or .opus", path);
  }
  if (ending.empty()) return audio::FileFormat::wav;
  return audio::file_format_from_name(std::string_view(ending).substr(1)).value_or(audio::FileFormat::wav);
}

Result<std::optional<int>> one_of(const Arguments& arguments, const char* name, std::initializer_list<int> choices,
                                  const char* list) {
  const auto text = arguments.value(name);
  if (!text) return std::nullopt;
  for (const int choice : choices) {
    if (*text == std::to_string(choice)) return choice;
  }
  return fail(ErrorCode::invalid_argument, "--{} must be {}, not '{}'", name, list, *text);
}

/// Whether it was given.
Result<bool> read_number(const Arguments& arguments, const std::string& name, double least, double most, double& value) {
  const auto text = arguments.value(name);
  if (!text) return false;
  CONTINUO_TRY(value, parse_number(*text, "--" + name, least, most));
  return true;
}

audio::EncoderOptions encoder_options(const FinishPlan& plan, int sample_rate, int channels) {
  audio::EncoderOptions options;
  options.format = plan.format;
  options.samples = plan.samples;
  options.channels = plan.options.channels.value_or(channels);
  options.sample_rate = plan.options.sample_rate.value_or(sample_rate);
  return options;
}

void print_notes(const FinishPlan& plan, const std::string& path, const audio::FinishReport& report) {
  if (report.replaced > 0) {
    std::fprintf(stderr, "note: %s: %lld samples were not finite numbers and became 0\n", path.c_str(),
                 static_cast<long long>(report.replaced));
  }
  if (report.is_lufs && *report.is_lufs < *plan.options.loudness - missed_lu) {
    std::fprintf(stderr, "note: %s: its loudness is %.1f LUFS, not %g: peaks had to be turned down by up to %.1f dB\n",
                 path.c_str(), *report.is_lufs, *plan.options.loudness, report.limited_db);
  }
}

}  // namespace

std::vector<Option> finish_options() {
  return {
      {"--rate", "32000|44100|48000", "sample rate of the file (default: the model's, usually 32000; opus has 48000)"},
      {"--channels", "1|2", "channels of the file (default: the model's)"},
      {"--loudness", "LUFS", "bring the clip to this loudness, -40 to -5, for example -16; peaks stay 1 dB below full scale"},
      {"--fade-in", "SECONDS", "begin out of silence"},
      {"--fade-out", "SECONDS", "end in silence"},
      {"--loop", "", "make the clip repeat without a seam; it becomes 1 to 2 seconds shorter"},
      {"--gate", "DB", "silence what stays below this level, -100 to -20, for example -60 (default: off)"},
  };
}

Result<FinishPlan> finish_plan(const Arguments& arguments, const std::string& output, audio::SampleFormat samples) {
  FinishPlan plan;
  CONTINUO_TRY(plan.format, format_of_name(output));
  plan.samples = samples;
  const bool lossy = audio::is_lossy(plan.format);
  if (lossy && arguments.has("bits")) {
    return fail(ErrorCode::invalid_argument, "--bits is for wav and flac; {} has no sample format", audio::name_of(plan.format));
  }
  audio::FinishOptions& options = plan.options;
  CONTINUO_TRY(options.sample_rate, one_of(arguments, "rate", {32'000, 44'100, 48'000}, "32000, 44100 or 48000"));
  CONTINUO_TRY(options.channels, one_of(arguments, "channels", {1, 2}, "1 or 2"));
  double loudness = 0.0;
  CONTINUO_TRY(const bool level, read_number(arguments, "loudness", audio::min_loudness, audio::max_loudness, loudness));
  if (level) options.loudness = loudness;
  audio::GateOptions gate;
  CONTINUO_TRY(const bool gated, read_number(arguments, "gate", audio::min_gate_db, audio::max_gate_db, gate.threshold_db));
  if (gated) options.gate = gate;
  CONTINUO_TRY(const bool fade_in, read_number(arguments, "fade-in", 0.0, audio::max_fade_seconds, options.fade_in));
  CONTINUO_TRY(const bool fade_out, read_number(arguments, "fade-out", 0.0, audio::max_fade_seconds, options.fade_out));
  if (arguments.has("loop")) options.loop = audio::LoopOptions{};
  options.ceiling_db = lossy || level ? -1.0 : 0.0;
  CONTINUO_CHECK(audio::check_finish(options));
  plan.as_it_is =
      !(lossy || options.sample_rate || options.channels || level || gated || fade_in || fade_out || options.loop.has_value());
  return plan;
}

Status settle(FinishPlan& plan, int sample_rate, int channels) {
  // Lossy formats know few rates; this one all of them have.
  if (audio::is_lossy(plan.format) && !plan.options.sample_rate) {
    const bool known = sample_rate == 32'000 || sample_rate == 44'100 || sample_rate == 48'000;
    if (!known || plan.format == audio::FileFormat::opus) plan.options.sample_rate = 48'000;
  }
  CONTINUO_CHECK(audio::stream_resampler(1, sample_rate, plan.options.sample_rate.value_or(sample_rate)));
  return audio::check_encoder(encoder_options(plan, sample_rate, channels));
}

Status finish_and_write(const FinishPlan& plan, const std::string& path, engine::Clip& clip) {
  audio::Sound sound{std::move(clip.audio), clip.channels, clip.sample_rate};
  if (!plan.as_it_is) {
    audio::FinishReport report;
    CONTINUO_TRY(sound, audio::finish_sound(std::move(sound), plan.options, &report));
    print_notes(plan, path, report);
  }
  CONTINUO_CHECK(audio::write_audio(path, sound, encoder_options(plan, clip.sample_rate, clip.channels)));
  clip.audio = std::move(sound.samples);
  clip.channels = sound.channels;
  clip.sample_rate = sound.sample_rate;
  return {};
}

}  // namespace continuo::cli
