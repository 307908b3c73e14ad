#include "weights/convert.h"

#include <cmath>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/file.h"
#include "base/half.h"
#include "weights/config_check.h"
#include "weights/config_keys.h"
#include "weights/gguf_writer.h"
#include "weights/huggingface.h"

namespace continuo::weights {

namespace {

constexpr std::uint16_t half_infinity = 0x7C00;

DType type_in_file(const TensorSpec& spec, DType file_type) { return spec.always_f32() ? DType::f32 : file_type; }

/// Writes one tensor's values as they come, in the file's type.
class TensorSink {
 public:
  TensorSink(GgufWriter& writer, AtomicFile& file, const TensorSpec& spec, DType type)
      : writer_(writer), file_(file), spec_(spec), type_(type) {}

  Status write(std::span<const float> values) {
    if (type_ == DType::f32) return writer_.write_data(file_, std::as_bytes(values));
    halves_.clear();
    halves_.reserve(values.size());
    for (const float value : values) {
      const std::uint16_t half = float_to_half(value);
      if ((half & 0x7FFFU) == half_infinity) {
        return fail(ErrorCode::unsupported, "tensor '{}' holds {}, which is beyond the range of f16: convert to f32 instead",
                    spec_.name, value);
      }
      halves_.push_back(half);
    }
    return writer_.write_data(file_, std::as_bytes(std::span(std::as_const(halves_))));
  }

 private:
  GgufWriter& writer_;
  AtomicFile& file_;
  const TensorSpec& spec_;
  DType type_;
  std::vector<std::uint16_t> halves_;
};

/// What a person asked for wins over what the folder says.
ModelConfig with_options(ModelConfig config, const ConvertOptions& options) {
  if (!options.license.empty()) config.license = options.license;
  if (!options.name.empty()) config.name = options.name;
  if (!options.source.empty()) config.source = options.source;
  if (!options.description.empty()) config.description = options.description;
  return config;
}

}  // namespace

Status convert_huggingface(const std::string& folder, const std::string& output, const ConvertOptions& options) {
  if (options.type != DType::f32 && options.type != DType::f16) {
    return fail(ErrorCode::unsupported, "converting to {} is not supported by this version yet; f32 and f16 are",
                name_of(options.type));
  }
  CONTINUO_TRY(const HuggingFaceModel model, HuggingFaceModel::open(folder));
  const ModelConfig config = with_options(model.config(), options);
  CONTINUO_CHECK(check_config(config, folder));
  CONTINUO_TRY(AtomicFile file, AtomicFile::open(output));

  const std::vector<TensorSpec> layout = musicgen_layout(config);
  GgufWriter writer;
  write_config(config, writer);
  double total = 0.0;
  for (const TensorSpec& spec : layout) {
    const DType type = type_in_file(spec, options.type);
    CONTINUO_CHECK(writer.add_tensor(spec.name, type, spec.shape));
    total += static_cast<double>(*tensor_bytes(type, spec.shape));
  }
  CONTINUO_CHECK(writer.begin(file));

  double done = 0.0;
  for (const TensorSpec& spec : layout) {
    const DType type = type_in_file(spec, options.type);
    TensorSink sink(writer, file, spec, type);
    const auto pass_on = [&](std::span<const float> values) -> Status {
      if (options.cancelled && options.cancelled()) return fail(ErrorCode::cancelled, "the conversion was cancelled");
      CONTINUO_CHECK(sink.write(values));
      done += static_cast<double>(values.size()) * static_cast<double>(block_size(type).bytes);
      if (options.progress) options.progress(done / total);
      return {};
    };
    CONTINUO_CHECK(model.stream(spec, pass_on));
  }
  CONTINUO_CHECK(writer.finish());
  return file.commit();
}

}  // namespace continuo::weights
