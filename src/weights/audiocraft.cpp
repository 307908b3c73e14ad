#include "weights/audiocraft.h"

#include <filesystem>
#include <utility>

#include "weights/audiocraft_config.h"
#include "weights/audiocraft_names.h"
#include "weights/huggingface_config.h"
#include "weights/huggingface_names.h"
#include "weights/huggingface_tokenizer.h"
#include "weights/json_text.h"
#include "weights/model_card.h"
#include "weights/text_check.h"

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t config_bytes_max = std::size_t{4} << 20;
constexpr const char* decoder_file = "state_dict.bin";
constexpr const char* codec_file = "compression_state_dict.bin";

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

/// One of the two files, open.
struct Part {
  std::string path;
  YamlFields settings;
  CheckpointTensors tensors;
};

Result<Part> open_part(const std::string& path) {
  CONTINUO_TRY(TorchArchive archive, TorchArchive::open(path));
  const Pickle& pickle = archive.pickle();
  const auto state = pickle.find(pickle.root(), "best_state");
  const auto config = pickle.find(pickle.root(), "xp.cfg");
  if (const auto pointer = pickle.find(pickle.root(), "pretrained"); pointer && !state) {
    const auto* name = pickle.get<std::string_view>(*pointer);
    return fail(
        ErrorCode::unsupported,
        "{}: this file holds no tensors, it only names its codec, '{}'; put the {} of a published model with that codec in "
        "its place (facebook/musicgen-small has the one of facebook/encodec_32khz)",
        path, name == nullptr ? "?" : printable(*name), codec_file);
  }
  if (!state || !config) {
    return fail(ErrorCode::corrupt_file, "{}: this is not a file that audiocraft exports: it has no '{}'", path,
                state ? "xp.cfg" : "best_state");
  }
  const auto* text = pickle.get<std::string_view>(*config);
  if (text == nullptr) return fail(ErrorCode::corrupt_file, "{}: 'xp.cfg' is not a text", path);
  CONTINUO_TRY(YamlFields settings, YamlFields::parse(*text, path + ": xp.cfg"));
  CONTINUO_TRY(TorchCheckpoint checkpoint, TorchCheckpoint::open(std::move(archive), *state));
  CONTINUO_TRY(CheckpointTensors tensors, CheckpointTensors::of(std::move(checkpoint)));
  return Part{path, std::move(settings), std::move(tensors)};
}

Status read_t5_folder(const std::string& folder, ModelConfig& config) {
  const std::string path = folder + "/config.json";
  CONTINUO_TRY(const nlohmann::json part, read_json_object(path, config_bytes_max));
  std::string type;
  JsonFields fields(part, path);
  fields.get("model_type", type);
  CONTINUO_CHECK(fields.take());
  if (type != "t5") {
    return fail(ErrorCode::unsupported, "{}: this is a '{}' model; the text encoder of a MusicGen is a 't5'", path,
                printable(type));
  }
  CONTINUO_CHECK(read_t5_config(part, path, config));
  return read_huggingface_tokenizer(folder, config.tokenizer);
}

std::string folder_name(const std::string& folder) {
  std::error_code ignored;
  const std::string name = printable(fs::weakly_canonical(folder, ignored).filename().string());
  return name.empty() ? "musicgen" : name;
}

}  // namespace

Status check_t5_folder(const std::string& folder) {
  ModelConfig config;
  CONTINUO_CHECK(read_t5_folder(folder, config));
  if (CheckpointTensors::in_folder(folder)) return {};
  return fail(ErrorCode::not_found, "{} has no model.safetensors and no pytorch_model.bin", folder);
}

bool AudiocraftModel::in_folder(const std::string& folder) { return exists(folder + "/" + decoder_file); }

Result<AudiocraftModel> AudiocraftModel::open(const std::string& folder, const std::string& t5) {
  if (!exists(folder + "/" + codec_file)) {
    return fail(ErrorCode::not_found, "{} has a {} but no {}, which holds the codec", folder, decoder_file, codec_file);
  }
  CONTINUO_TRY(Part decoder, open_part(folder + "/" + decoder_file));
  CONTINUO_TRY(Part codec, open_part(folder + "/" + codec_file));
  ModelConfig config;
  CONTINUO_TRY(const std::string encoder, read_audiocraft_decoder(decoder.settings, config));
  CONTINUO_CHECK(read_audiocraft_codec(codec.settings, config.codec));
  if (t5.empty()) {
    return fail(ErrorCode::invalid_argument,
                "{} is an audiocraft checkpoint, which has no text encoder in it: give the folder of '{}' (config.json, weights, "
                "spiece.model) with --t5",
                folder, printable(encoder));
  }
  CONTINUO_CHECK(read_t5_folder(t5, config));
  config.name = folder_name(folder);
  config.license = read_license(folder);
  CONTINUO_CHECK(join_audiocraft_parts(decoder.settings, config));

  const std::vector<TensorSpec> layout = musicgen_layout(config);
  CONTINUO_TRY(CheckpointTensors text_tensors, CheckpointTensors::open_folder(t5));
  CONTINUO_TRY(TensorMatch text,
               TensorMatch::match(std::move(text_tensors), t5, "config.json", layout, t5_names(config.text, ""), is_t5_leftover));
  CONTINUO_TRY(TensorMatch language,
               TensorMatch::match(std::move(decoder.tensors), decoder.path, "xp.cfg", layout, audiocraft_decoder_names(config),
                                  [&](std::string_view name) { return is_audiocraft_decoder_leftover(name, config); }));
  CONTINUO_TRY(TensorMatch compression,
               TensorMatch::match(std::move(codec.tensors), codec.path, "xp.cfg", layout, audiocraft_codec_names(config),
                                  [&](std::string_view name) { return is_audiocraft_codec_leftover(name, config); }));
  return AudiocraftModel(std::move(config), std::move(text), std::move(language), std::move(compression));
}

Status AudiocraftModel::stream(const TensorSpec& spec, const Sink& sink) const {
  for (const TensorMatch* part : {&text_, &decoder_}) {
    if (part->has(spec)) return part->stream(spec, sink);
  }
  return codec_.stream(spec, sink);
}

}  // namespace continuo::weights
