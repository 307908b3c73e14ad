#include "weights/huggingface.h"

#include <filesystem>
#include <utility>

#include "weights/huggingface_config.h"
#include "weights/huggingface_names.h"

namespace continuo::weights {

namespace {

namespace fs = std::filesystem;

/// Says what a path is if it is not a Hugging Face model folder.
Status check_folder(const std::string& folder) {
  std::error_code ignored;
  if (!fs::exists(folder, ignored)) return fail(ErrorCode::not_found, "{} does not exist", folder);
  if (!fs::is_directory(folder, ignored)) {
    return fail(ErrorCode::unsupported, "{} is a file; what can be converted is a model folder", folder);
  }
  if (fs::exists(folder + "/config.json", ignored)) return {};
  return fail(ErrorCode::not_found,
              "{} is not a model folder: it has no config.json (Hugging Face) and no state_dict.bin (audiocraft)", folder);
}

}  // namespace

Result<HuggingFaceModel> HuggingFaceModel::open(const std::string& folder) {
  CONTINUO_CHECK(check_folder(folder));
  CONTINUO_TRY(ModelConfig config, read_huggingface_config(folder));
  CONTINUO_TRY(CheckpointTensors tensors, CheckpointTensors::open_folder(folder));
  CONTINUO_TRY(TensorMatch match,
               TensorMatch::match(std::move(tensors), folder, "config.json", musicgen_layout(config), huggingface_names(config),
                                  [&](std::string_view name) { return is_leftover(name, config); }));
  return HuggingFaceModel(std::move(config), std::move(match));
}

}  // namespace continuo::weights
