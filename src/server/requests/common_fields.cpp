#include "server/requests/common_fields.h"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace continuo::server {

JsonLimits json_limits(const RequestContext& context) {
  JsonLimits limits;
  limits.bytes = static_cast<std::size_t>(std::max<std::int64_t>(context.limits.body_bytes, 0));
  return limits;
}

ServedModel read_model(Fields& fields, const RequestContext& context) {
  const std::string id = fields.text("model", 200).value_or("");
  auto model = context.model(id);
  if (model) return *model;
  model.error().param = fields.named("model");
  fields.take(std::move(model).error());
  return context.models.empty() ? ServedModel{} : context.models.front();
}

std::optional<std::string> read_prompt(Fields& fields, const std::string& name, const RequestContext& context) {
  return fields.text(name, std::min(context.limits.prompt_bytes, engine::max_prompt_bytes));
}

double read_duration(Fields& fields, const RequestContext& context, const weights::ModelConfig& config, double otherwise) {
  const double longest = std::min(context.limits.seconds, engine::longest_seconds);
  const auto seconds = fields.number("duration", {0.0, longest, true});
  if (!seconds) return std::min(otherwise, longest);
  if (engine::frame_count(*seconds, config) < 1) {
    fields.refuse("duration",
                  fmt::format("{} is shorter than one frame; the shortest piece has {:g} s", fields.named("duration"),
                              1.0 / config.codec.frame_rate()),
                  "out_of_range");
  }
  return *seconds;
}

std::uint64_t read_seed(Fields& fields, const RequestContext& context) {
  const auto seed = fields.seed("seed");
  return seed ? *seed : context.draw_seed();
}

void read_sampling(Fields& fields, const weights::ModelConfig& config, engine::Request& request) {
  if (const auto value = fields.number("temperature", {0.0, 100.0})) request.temperature = static_cast<float>(*value);
  const auto top_k = fields.integer("top_k", 0, config.decoder.codebook_size);
  const auto top_p = fields.number("top_p", {0.0, 1.0});
  if (top_k) request.top_k = static_cast<int>(*top_k);
  if (top_p) request.top_p = static_cast<float>(*top_p);
  if (top_k && !top_p) request.top_p = 0.0F;
  if (const auto value = fields.number("guidance_scale", {0.0, 100.0})) request.guidance = static_cast<float>(*value);
}

void refuse_beam_search(Fields& fields, const std::string& name) {
  fields.refuse(name, "beam search is not in this version; leave " + fields.named(name) + " out to sample", "unsupported");
}

void read_strategy(Fields& fields, engine::Request& request) {
  const auto strategy = fields.choice("strategy", {"sample", "greedy", "beam", "beam_search"});
  if (!strategy) return;
  if (strategy->starts_with("beam")) refuse_beam_search(fields, "strategy");
  request.strategy = *strategy == "greedy" ? engine::Strategy::greedy : engine::Strategy::sample;
}

void check_request(Fields& fields, const engine::Request& request, const weights::ModelConfig& config) {
  if (fields.failed()) return;
  if (auto status = engine::validate(request, config); !status) {
    fields.take(api_error_of(status.error(), request.segments.empty() ? "" : fields.named("segments")));
  }
}

RenditionFormat read_output(Fields& fields, const weights::ModelConfig& config) {
  RenditionFormat output;
  audio::FinishOptions& finish = output.finish;
  const std::string word = fields.choice("format", {"wav", "flac", "mp3", "m4a", "ogg"}).value_or("wav");
  output.format = audio::file_format_from_name(word).value_or(audio::FileFormat::wav);
  const bool lossy = audio::is_lossy(output.format);
  finish.sample_rate = fields.choice("sample_rate", {32'000, 44'100, 48'000});
  finish.channels = fields.choice("channels", {1, 2});
  const auto bits = fields.choice("bits", {16, 24, 32});
  const auto bit_rate = fields.integer("bitrate", 32'000, 320'000);
  finish.loudness = fields.number("loudness", {audio::min_loudness, audio::max_loudness});
  finish.fade_in = fields.number("fade_in", {0.0, audio::max_fade_seconds}).value_or(0.0);
  finish.fade_out = fields.number("fade_out", {0.0, audio::max_fade_seconds}).value_or(0.0);
  if (fields.flag("loop").value_or(false)) finish.loop.emplace();
  if (const auto level = fields.number("gate", {audio::min_gate_db, audio::max_gate_db}))
    finish.gate.emplace().threshold_db = *level;

  if (bits)
    output.samples = *bits == 24   ? audio::SampleFormat::pcm24
                     : *bits == 32 ? audio::SampleFormat::float32
                                   : audio::SampleFormat::pcm16;
  if (bits && lossy) fields.refuse("bits", fmt::format("bits is for wav and flac; {} has no sample format", word));
  if (bits == 32 && output.format == audio::FileFormat::flac) {
    fields.refuse("bits", "flac holds samples of 16 or 24 bits; for 32-bit floats take wav");
  }
  if (bit_rate && !lossy) fields.refuse("bitrate", fmt::format("bitrate is for mp3, m4a and ogg; {} loses nothing", word));
  output.bit_rate = static_cast<int>(bit_rate.value_or(0));
  if (output.format == audio::FileFormat::opus && finish.sample_rate.value_or(48'000) != 48'000) {
    fields.refuse("sample_rate", "ogg (Opus) has only a sample rate of 48000");
  }
  if (finish.loop && (finish.fade_in > 0.0 || finish.fade_out > 0.0)) {
    fields.refuse("loop", "a loop has no beginning and no end to fade; leave out the fades or the loop");
  }
  settle_output(output, config.codec.sample_rate);
  return output;
}

void settle_output(RenditionFormat& output, int sample_rate) {
  const bool lossy = audio::is_lossy(output.format);
  if (lossy && !output.finish.sample_rate) {
    const bool known = sample_rate == 32'000 || sample_rate == 44'100 || sample_rate == 48'000;
    if (!known || output.format == audio::FileFormat::opus) output.finish.sample_rate = 48'000;
  }
  output.finish.ceiling_db = lossy || output.finish.loudness ? -1.0 : 0.0;
  output.whole = output.finish.loop || output.finish.loudness;
}

}  // namespace continuo::server
