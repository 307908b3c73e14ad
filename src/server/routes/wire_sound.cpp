#include "server/routes/wire_sound.h"

#include "audio/wav.h"

namespace continuo::server {

RenditionFormat wire_format(const WireSound& sound) {
  RenditionFormat format;
  // There is no rendition of bare floats; a WAV of them has a header of known size in front.
  format.format = sound.format == WireFormat::pcm16 ? audio::FileFormat::pcm : audio::FileFormat::wav;
  format.samples = sound.format == WireFormat::pcm16 ? audio::SampleFormat::pcm16 : audio::SampleFormat::float32;
  format.finish.sample_rate = sound.sample_rate;
  format.finish.channels = sound.channels;
  return format;
}

std::int64_t wire_header_bytes(const WireSound& sound) {
  if (sound.format == WireFormat::pcm16) return 0;
  const auto header = audio::wav_header(0, 1, 32'000, audio::SampleFormat::float32);
  return header ? static_cast<std::int64_t>(header->size()) : 0;
}

ReadyFacts wire_facts(const Job& job, const WireSound& sound, const std::string& token, std::int64_t offset, const Parts& parts) {
  ReadyFacts facts;
  facts.token = token;
  facts.job = job.id();
  facts.model = job.spec().model;
  facts.format = sound.format;
  facts.seed = job.spec().request.seed;
  facts.offset = offset;
  facts.window = sound.window;
  facts.prompt = job.spec().request.prompt;
  facts.resume_seconds = parts.options.limits.resume_seconds;
  if (const engine::Engine* engine = parts.engine(job.spec().model)) {
    const auto& config = engine->config();
    facts.sample_rate = sound.sample_rate.value_or(config.codec.sample_rate);
    facts.channels = sound.channels.value_or(config.decoder.audio_channels);
    const std::int64_t own =
        std::int64_t{engine::frame_count(engine::request_seconds(job.spec().request), config)} * config.codec.hop();
    facts.frames = audio::finished_frames(own, config.codec.sample_rate, wire_format(sound).finish);
  }
  return facts;
}

std::vector<std::string> wire_events(const Job& job, std::int64_t& heard) {
  std::vector<std::string> messages;
  const double total = engine::request_seconds(job.spec().request);
  for (const JobEvent& event : job.events()) {
    if (event.number <= heard) continue;
    heard = event.number;
    if (event.name == "queued") messages.push_back(queued_message(job.place(), job.eta_seconds()));
    if (event.name == "started") messages.push_back(started_message(job.realtime()));
    if (event.name == "progress") messages.push_back(progress_message(job.progress() * total, total, job.eta_seconds()));
  }
  return messages;
}

}  // namespace continuo::server
