// continuo codec: codes to sound and back.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "audio/npy.h"
#include "audio/wav.h"
#include "cli/audio_input.h"
#include "cli/interrupt.h"
#include "cli/model.h"
#include "cli/numbers.h"
#include "cli/outputs.h"

namespace continuo::cli {

namespace {

/// Of a run that uses the codec alone.
engine::MemoryNeed need_of_codec(const OpenedModel& model, double seconds, bool encode) {
  engine::MemoryAsk ask;
  ask.seconds = std::clamp(seconds, 0.02, engine::longest_seconds);
  engine::MemoryNeed need = memory_need(model.config(), engine::resident_weight_bytes(*model.source, encode), ask);
  need.keys_values = 0;
  return need;
}

struct Codes {
  std::vector<std::int64_t> values;  // [codebooks, frames]
  int frames = 0;
  int channels = 1;
};

/// Codes of one clip, every one an entry of the codec's codebooks. A stereo model takes its own codes (left and right in turns)
/// or, as one channel, those of its mono codec.
Result<Codes> read_codes(const std::string& path, const weights::ModelConfig& config) {
  CONTINUO_TRY(audio::NpyArray array, audio::read_npy(path));
  auto& shape = array.shape;
  if (shape.size() == 3 && shape[0] == 1) shape.erase(shape.begin());  // a batch of one
  if (!array.is_integer() || shape.size() != 2) {
    return fail(ErrorCode::corrupt_file, "{}: expected integers [codebooks, frames]{}", path,
                shape.size() == 3 ? "; this is a batch, decode its clips one by one" : "");
  }
  const bool whole = shape[0] == config.decoder.codebooks;
  if ((!whole && shape[0] != config.codec.codebooks) || shape[1] < 1) {
    return fail(ErrorCode::corrupt_file, "{}: [{}, {}] codes; this model takes {} codebooks and at least 1 frame", path, shape[0],
                shape[1], config.decoder.codebooks);
  }
  Codes codes{std::move(std::get<0>(array.values)), static_cast<int>(shape[1]), whole ? config.decoder.audio_channels : 1};
  for (std::size_t i = 0; i < codes.values.size(); ++i) {
    if (codes.values[i] >= 0 && codes.values[i] < config.codec.codebook_size) continue;
    const auto frames = static_cast<std::size_t>(shape[1]);
    return fail(ErrorCode::corrupt_file, "{}: code {} (codebook {}, frame {}) is outside 0 to {}", path, codes.values[i],
                i / frames, i % frames, config.codec.codebook_size - 1);
  }
  return codes;
}

Status decode(const Arguments& arguments, const Context& context) {
  const std::string& input = arguments.positionals()[1];
  const std::string& output = arguments.positionals()[2];
  CONTINUO_CHECK(check_is_wav_name(output));
  const std::string bits = arguments.value_or("bits", "16");
  const auto format = audio::sample_format_from_name(bits);
  if (!format) return fail(ErrorCode::invalid_argument, "--bits must be 16, 24 or 32f, not '{}'", bits);
  double chunk_seconds = 0.0;
  if (const auto text = arguments.value("chunk")) {
    CONTINUO_TRY(chunk_seconds, parse_number(*text, "--chunk", 0.001, 3600.0));
  }
  CONTINUO_TRY(const engine::EngineOptions options, engine_options(arguments, context));
  CONTINUO_CHECK(check_writable(output));
  CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
  const weights::ModelConfig config = model.config();
  const int chunk_frames =
      chunk_seconds > 0.0 ? std::max(1, static_cast<int>(std::lround(chunk_seconds * config.codec.frame_rate()))) : 0;
  CONTINUO_TRY(const Codes codes, read_codes(input, config));
  CONTINUO_CHECK(check_memory(need_of_codec(model, codes.frames / config.codec.frame_rate(), false), options.memory));
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(model.source), options));
  CONTINUO_TRY(const std::vector<float> samples, engine->decode_codes(codes.values, codes.frames, chunk_frames));
  if (interrupted()) return fail(ErrorCode::cancelled, "interrupted; nothing was written");
  CONTINUO_CHECK(audio::write_wav(output, samples, codes.channels, config.codec.sample_rate, *format));
  std::printf("%s  %.2f s\n", output.c_str(), static_cast<double>(codes.frames) / config.codec.frame_rate());
  return {};
}

Status encode(const Arguments& arguments, const Context& context) {
  const std::string& input = arguments.positionals()[1];
  const std::string& output = arguments.positionals()[2];
  if (arguments.has("chunk")) return fail(ErrorCode::invalid_argument, "--chunk is for codec decode");
  if (arguments.has("bits")) return fail(ErrorCode::invalid_argument, "--bits is for codec decode; codes are always int64");
  if (input == output) return fail(ErrorCode::invalid_argument, "the codes cannot be written over {} itself", input);
  CONTINUO_TRY(const engine::EngineOptions options, engine_options(arguments, context));
  CONTINUO_CHECK(check_writable(output));
  CONTINUO_TRY(OpenedModel model, open_requested_model(arguments, context));
  const weights::ModelConfig config = model.config();
  CONTINUO_TRY(const audio::Sound sound, read_for_codec(input, config));
  const double seconds = static_cast<double>(sound.frames()) / sound.sample_rate;
  CONTINUO_CHECK(check_memory(need_of_codec(model, seconds, true), options.memory));
  CONTINUO_TRY(const auto engine, engine::Engine::create(std::move(model.source), options));
  CONTINUO_TRY(const std::vector<std::int64_t> codes, engine->encode_audio(sound.samples));
  if (interrupted()) return fail(ErrorCode::cancelled, "interrupted; nothing was written");
  const std::int64_t codebooks = config.decoder.codebooks, frames = static_cast<std::int64_t>(codes.size()) / codebooks;
  CONTINUO_CHECK(audio::write_npy(output, std::vector<std::int64_t>{codebooks, frames}, codes));
  std::printf("%s  %lld frames  %.2f s\n", output.c_str(), static_cast<long long>(frames), seconds);
  return {};
}

Status run(const Arguments& arguments, const Context& context) {
  const std::string& action = arguments.positionals().front();
  if (action != "encode" && action != "decode") {
    return fail(ErrorCode::invalid_argument, "codec takes 'encode IN CODES.npy' or 'decode CODES.npy OUT.wav', not '{}'", action);
  }
  const bool encoding = action == "encode";
  if (arguments.positionals().size() != 3) {
    return fail(ErrorCode::invalid_argument, "codec {} needs {}", action,
                encoding ? "IN and CODES.npy" : "CODES.npy and OUT.wav");
  }
  return encoding ? encode(arguments, context) : decode(arguments, context);
}

}  // namespace

Command codec_command() {
  Command command{"codec", "turn sound into codes and back: codec encode IN CODES.npy, codec decode CODES.npy OUT.wav"};
  command.positionals = {
      "WORD",
      "encode IN CODES.npy (any audio file), or decode CODES.npy OUT.wav; codes are int64 [codebooks, frames], as generate "
      "--codes-out writes them",
      1, 3};
  command.options = {
      model_option(),   {"--bits", "16|24|32f", "decode: sample format of the file (default 16)"},
      threads_option(), models_folder_option(),
      memory_option(),  {"--chunk", "SECONDS", "decode: as a stream, so many seconds at a time; the samples are the same"},
  };
  command.run = run;
  return command;
}

}  // namespace continuo::cli
