#include "server/requests/speech.h"

#include <nlohmann/json.hpp>

#include "server/requests/common_fields.h"

namespace continuo::server {

using nlohmann::json;

namespace {

constexpr int openai_pcm_rate = 24'000;
constexpr std::size_t voice_bytes = 200;

std::string trimmed(const std::string& text) {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t first = text.find_first_not_of(blanks);
  if (first == std::string::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

/// Their clients cannot leave it out: the name of a voice, or {"id"} of one that was made.
void read_voice(Fields& fields) {
  const json* voice = fields.any("voice");
  if (voice == nullptr || (voice->is_string() && voice->get_ref<const std::string&>().size() <= voice_bytes)) return;
  const bool made = voice->is_object() && voice->size() == 1 && voice->contains("id") && (*voice)["id"].is_string();
  if (!made) fields.refuse("voice", "voice must be a short text or {\"id\": text}; it is not used", "invalid_type");
}

void read_answer(Fields& fields, const weights::ModelConfig& config, SpeechRequest& speech) {
  const std::string word = fields.choice("response_format", {"mp3", "opus", "aac", "flac", "wav", "pcm"}).value_or("mp3");
  RenditionFormat& output = speech.spec.output;
  output.format = audio::file_format_from_name(word).value_or(audio::FileFormat::mp3);
  auto rate = fields.choice("sample_rate", {openai_pcm_rate, 32'000, 44'100, 48'000});
  if (rate == openai_pcm_rate && audio::is_lossy(output.format)) {
    fields.refuse("sample_rate", fmt::format("{} has no sample rate of 24000; take 32000, 44100 or 48000", word));
  }
  if (output.format == audio::FileFormat::opus && rate.value_or(48'000) != 48'000) {
    fields.refuse("sample_rate", "opus has only a sample rate of 48000");
  }
  if (output.format == audio::FileFormat::pcm) {
    if (!rate) rate = openai_pcm_rate;
    output.finish.channels = 1;
  }
  output.finish.sample_rate = rate;
  settle_output(output, config.codec.sample_rate);
  speech.events = fields.choice("stream_format", {"sse", "audio"}) == "sse";
}

Parsed<SpeechRequest> read_speech(std::string_view body, const RequestContext& context) {
  CONTINUO_PARSE(const json object, parse_json_object(body, json_limits(context)));
  Fields fields(object);
  const ServedModel model = read_model(fields, context);
  if (model.config == nullptr) return tl::unexpected(fields.finish().error());
  SpeechRequest speech;
  JobSpec& spec = speech.spec;
  spec.family = "speech";
  spec.model = model.id;
  spec.client = context.client;
  spec.streamed = true;
  spec.request = engine::default_request(*model.config);
  const std::string input = read_prompt(fields, "input", context).value_or("");
  spec.request.prompt = speech_prompt(input, read_prompt(fields, "instructions", context).value_or(""));
  const std::size_t most = std::min(context.limits.prompt_bytes, engine::max_prompt_bytes);
  if (spec.request.prompt.size() > most) {
    fields.refuse(
        "instructions",
        fmt::format("input and instructions have {} bytes together; at most {} are accepted", spec.request.prompt.size(), most),
        "too_long");
  }
  read_voice(fields);
  read_answer(fields, *model.config, speech);
  const auto speed = fields.number("speed", {0.25, 4.0});
  if (speed.value_or(1.0) != 1.0) {
    fields.refuse("speed", "music is not made at another speed; leave speed out and say the tempo in the input", "unsupported");
  }
  const auto pieces = fields.integer("n", 1, 128);
  if (pieces.value_or(1) != 1)
    fields.refuse("n", "n must be 1: one answer is one piece; POST /v1/jobs makes several takes", "unsupported");
  spec.request.seconds = read_duration(fields, context, *model.config, default_seconds);
  spec.request.seed = read_seed(fields, context);
  read_sampling(fields, *model.config, spec.request);
  if (!fields.has("input")) fields.missing("input", "input is missing: what the music shall be");
  check_request(fields, spec.request, *model.config);
  if (auto done = fields.finish(); !done) return tl::unexpected(std::move(done).error());
  return speech;
}

}  // namespace

std::string speech_prompt(const std::string& input, const std::string& instructions) {
  const std::string what = trimmed(input), how = trimmed(instructions);
  if (what.empty() || how.empty()) return what + how;
  const bool ended = std::string_view(".!?,;:").find(what.back()) != std::string_view::npos;
  return what + (ended ? " " : ". ") + how;
}

Parsed<SpeechRequest> parse_speech(std::string_view body, const RequestContext& context) {
  auto speech = read_speech(body, context);
  if (!speech && speech.error().status == 422) speech.error().status = 400;
  return speech;
}

}  // namespace continuo::server
