#include "server/media/rendition_format.h"

#include "audio/resample.h"
#include "server/media/rendition.h"

namespace continuo::server {

namespace {

using audio::FileFormat;

bool is_plain(FileFormat format) { return format == FileFormat::wav || format == FileFormat::pcm; }
bool has_samples(FileFormat format) { return format == FileFormat::wav || format == FileFormat::flac; }

template <class T>
std::string text_of(const std::optional<T>& value) {
  return value ? fmt::format("{}", *value) : "-";
}

}  // namespace

bool RenditionFormat::made_whole() const {
  if (finish.loop) return true;
  return whole && (!is_plain(format) || finish.loudness);
}

std::string RenditionFormat::key() const {
  std::string key =
      fmt::format("{} s{} b{} w{} r{} c{} l{} f{},{} k{} x{}", audio::name_of(format),
                  has_samples(format) ? audio::bytes_of_sample(samples) : 0, audio::is_lossy(format) ? bit_rate : 0,
                  made_whole() ? 1 : 0, text_of(finish.sample_rate), text_of(finish.channels), text_of(finish.loudness),
                  finish.fade_in, finish.fade_out, finish.keep_level ? 1 : 0, finish.ceiling_db);
  if (finish.gate) {
    const audio::GateOptions& gate = *finish.gate;
    key += fmt::format(" g{},{},{},{},{}", gate.threshold_db, gate.hysteresis_db, gate.attack_seconds, gate.hold_seconds,
                       gate.release_seconds);
  }
  if (finish.loop) {
    const audio::LoopOptions& loop = *finish.loop;
    key += fmt::format(" o{},{},{}", loop.crossfade_seconds, loop.search_seconds, text_of(loop.seconds));
  }
  return key;
}

int sample_rate_of(const RenditionFormat& wanted, const Recording::Shape& shape) {
  if (wanted.finish.sample_rate) return *wanted.finish.sample_rate;
  const bool known = shape.sample_rate == 32'000 || shape.sample_rate == 44'100 || shape.sample_rate == 48'000;
  if (wanted.format == FileFormat::opus || (audio::is_lossy(wanted.format) && !known)) return 48'000;
  return shape.sample_rate;
}

int channels_of(const RenditionFormat& wanted, const Recording::Shape& shape) {
  return wanted.finish.channels.value_or(shape.channels);
}

std::optional<int> RenditionFormat::bits() const {
  if (audio::is_lossy(format)) return std::nullopt;
  return has_samples(format) ? 8 * audio::bytes_of_sample(samples) : 16;
}

const char* extension_of(FileFormat format) { return format == FileFormat::opus ? "ogg" : audio::name_of(format); }

Status check_rendition(const RenditionFormat& format, const Recording::Shape& shape) {
  CONTINUO_CHECK(audio::check_finish(format.finish));
  audio::FinishOptions finish = format.finish;
  finish.sample_rate = sample_rate_of(format, shape);
  CONTINUO_CHECK(audio::stream_resampler(1, shape.sample_rate, *finish.sample_rate));
  audio::EncoderOptions encoder;
  encoder.format = format.format;
  encoder.samples = format.samples;
  encoder.bit_rate = format.bit_rate;
  encoder.sample_rate = *finish.sample_rate;
  encoder.channels = channels_of(format, shape);
  encoder.frames = audio::finished_frames(shape.frames, shape.sample_rate, finish);
  return audio::check_encoder(encoder);
}

}  // namespace continuo::server
