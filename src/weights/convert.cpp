#include "weights/convert.h"

#include <utility>
#include <vector>

#include "base/file.h"
#include "base/thread_pool.h"
#include "weights/audiocraft.h"
#include "weights/config_check.h"
#include "weights/config_keys.h"
#include "weights/gguf_writer.h"
#include "weights/huggingface.h"
#include "weights/tensor_sink.h"
#include "weights/tensor_types.h"

namespace continuo::weights {

namespace {

/// What a person asked for wins over what the folder says.
ModelConfig with_options(ModelConfig config, const ConvertOptions& options) {
  if (!options.license.empty()) config.license = options.license;
  if (!options.name.empty()) config.name = options.name;
  if (!options.source.empty()) config.source = options.source;
  if (!options.description.empty()) config.description = options.description;
  return config;
}

Status write_model(const CheckpointModel& model, const std::string& folder, const std::string& output,
                   const ConvertOptions& options) {
  const ModelConfig config = with_options(model.config(), options);
  CONTINUO_CHECK(check_config(config, folder));
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(output));

  const std::vector<TensorSpec> layout = musicgen_layout(config);
  GgufWriter writer;
  write_config(config, writer);
  double total = 0.0;
  for (const TensorSpec& spec : layout) {
    const DType type = stored_type(spec, options.type);
    CONTINUO_CHECK(writer.add_tensor(spec.name, type, spec.shape));
    total += static_cast<double>(*tensor_bytes(type, spec.shape));
  }
  CONTINUO_CHECK(writer.begin(file));

  ThreadPool threads(physical_cores());
  TensorSink sink(writer, file, threads);
  double done = 0.0;
  for (const TensorSpec& spec : layout) {
    const DType type = stored_type(spec, options.type);
    const BlockSize block = block_size(type);
    sink.start(spec.name, type);
    const auto pass_on = [&](std::span<const float> values) -> Status {
      if (options.cancelled && options.cancelled()) return fail(ErrorCode::cancelled, "the conversion was cancelled");
      CONTINUO_CHECK(sink.write(values));
      done += static_cast<double>(values.size()) * static_cast<double>(block.bytes) / static_cast<double>(block.elements);
      if (options.progress) options.progress(done / total);
      return {};
    };
    CONTINUO_CHECK(model.stream(spec, pass_on));
  }
  CONTINUO_CHECK(writer.finish());
  return file.commit();
}

}  // namespace

Status convert_huggingface(const std::string& folder, const std::string& output, const ConvertOptions& options) {
  CONTINUO_TRY(const HuggingFaceModel model, HuggingFaceModel::open(folder));
  return write_model(model, folder, output, options);
}

Status convert_audiocraft(const std::string& folder, const std::string& output, const ConvertOptions& options) {
  CONTINUO_TRY(const AudiocraftModel model, AudiocraftModel::open(folder, options.t5));
  return write_model(model, folder, output, options);
}

Status convert(const std::string& source, const std::string& output, const ConvertOptions& options) {
  const bool huggingface = CheckpointTensors::in_folder(source);
  // The published folders hold both layouts. With a text encoder from elsewhere, audiocraft's is meant.
  if (AudiocraftModel::in_folder(source) && (!huggingface || !options.t5.empty())) {
    return convert_audiocraft(source, output, options);
  }
  if (!options.t5.empty()) {
    return fail(ErrorCode::invalid_argument,
                "{} is not an audiocraft folder (it has no state_dict.bin), so it has a text encoder of its own: leave out --t5",
                source);
  }
  return convert_huggingface(source, output, options);
}

}  // namespace continuo::weights
