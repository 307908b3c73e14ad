#include "cli/audio_input.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "audio/chroma.h"
#include "audio/media.h"
#include "engine/engine.h"
#include "engine/given_sound.h"

namespace continuo::cli {

namespace {

constexpr double resampling_seconds = 1.0;  // read before what is wanted: much more than the resampler's filter is long

void note(const std::string& text) { std::fprintf(stderr, "note: %s\n", text.c_str()); }

}  // namespace

Result<audio::Sound> read_for_codec(const std::string& path, const weights::ModelConfig& config) {
  CONTINUO_TRY(audio::Sound sound, audio::read_media(path));
  return engine::sound_for(std::move(sound), config);
}

Result<AudioPrompt> read_audio_prompt(const std::string& path, std::optional<double> last, double whole_seconds,
                                      const weights::ModelConfig& config) {
  const std::int64_t hop = config.codec.hop(), rate = config.codec.sample_rate;
  const double frame_rate = config.codec.frame_rate();
  const std::int64_t asked = last ? std::llround(*last * static_cast<double>(rate)) : 0;
  if (last && asked < hop) {
    return fail(ErrorCode::invalid_argument, "--last {:g} is shorter than one frame; the least is {:g} s", *last,
                1.0 / frame_rate);
  }
  // Of a longer part than the whole piece only the length matters, for the message that refuses it.
  const double most = std::min(last.value_or(whole_seconds), whole_seconds) + resampling_seconds;
  CONTINUO_TRY(audio::SoundEnd end, audio::read_media_end(path, most));
  const std::int64_t whole = end.whole_frames(config.codec.sample_rate);
  const std::int64_t used = last ? std::min(asked, whole) : whole;
  AudioPrompt prompt{path, {}, static_cast<int>(used / hop), 0.0};
  prompt.seconds = prompt.frames / frame_rate;
  if (prompt.frames == 0) {
    return fail(ErrorCode::unsupported, "{} is shorter than one frame ({:g} s); that is too little to continue", path,
                1.0 / frame_rate);
  }
  if (prompt.frames >= engine::frame_count(whole_seconds, config)) {
    return fail(
        ErrorCode::invalid_argument,
        "{:.2f} s of {} are to be continued, but -d asks for {:g} s in all; give a longer -d (at most {:g}) or a shorter --last",
        prompt.seconds, path, whole_seconds, engine::longest_seconds);
  }
  CONTINUO_TRY(const audio::Sound sound, engine::sound_for(std::move(end.sound), config));
  prompt.samples.assign(sound.samples.end() - prompt.frames * hop * sound.channels, sound.samples.end());
  if (last && asked > whole) {
    note(fmt::format("{} has only {:.2f} s; all of it is continued", path,
                     static_cast<double>(whole) / static_cast<double>(rate)));
  }
  if (engine::is_silent(prompt.samples)) note(fmt::format("what is continued of {} is silent", path));
  return prompt;
}

Result<std::vector<int>> read_melody(const std::string& path, const weights::ModelConfig& config) {
  if (!config.is_melody()) {
    return fail(ErrorCode::unsupported,
                "the model {} cannot follow a melody (--melody); use a melody model, such as musicgen-melody", config.name);
  }
  audio::MediaLimits limits;
  limits.first_seconds = audio::max_melody_seconds + 1.0;  // the resampler looks a little ahead
  CONTINUO_TRY(audio::Sound sound, audio::read_media(path, limits));
  const bool silent = engine::is_silent(sound.samples);
  CONTINUO_TRY(std::vector<int> melody, engine::melody_of(std::move(sound), config));
  if (silent) note(fmt::format("{} is silent; it has no melody to follow", path));
  return melody;
}

}  // namespace continuo::cli
