// random_model(): weights of the true sizes for benchmarks. A tensor is made when it is first asked for, from the seed and its
// own name, so that its values do not depend on the order of the questions; it then lives as long as the source.

#include <array>
#include <cassert>
#include <cmath>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "weights/musicgen_layout.h"
#include "weights/random_values.h"
#include "weights/tensor_source.h"
#include "weights/tensor_types.h"

namespace continuo::weights {

namespace {

struct NamedShape {
  std::string_view name;
  int width, layers, heads;
};
// Copet et al., 2023; the published config.json files.
constexpr std::array<NamedShape, 3> shapes = {
    {{"musicgen-small", 1024, 24, 16}, {"musicgen-medium", 1536, 48, 24}, {"musicgen-large", 2048, 48, 32}}};

ModelConfig config_of(const NamedShape& shape) {
  ModelConfig config;
  config.name = fmt::format("{} with random weights", shape.name);
  config.license = "none";
  config.source = "random numbers";
  config.text = {.width = 768, .layers = 12, .heads = 12, .head_width = 64, .feed_forward = 3072, .vocabulary = 32128};
  DecoderConfig& decoder = config.decoder;
  decoder.width = shape.width;
  decoder.layers = shape.layers;
  decoder.heads = shape.heads;
  decoder.feed_forward = 4 * shape.width;
  decoder.codebooks = 4;
  decoder.codebook_size = 2048;
  decoder.special_id = 2048;
  decoder.delays = {0, 1, 2, 3};
  config.codec = {.sample_rate = 32000, .filters = 64, .width = 128, .ratios = {8, 5, 4, 4}};
  config.codec.codebooks = 4;
  config.codec.codebook_size = 2048;
  return config;
}

/// What keeps activations of order 1.
Spread spread_of(const TensorSpec& spec, const ModelConfig& config) {
  switch (spec.kind) {
    case TensorKind::gain: return {0.1F, 1.0F};
    case TensorKind::bias: return {0.02F, 0.0F};
    case TensorKind::table: return {0.5F, 0.0F};
    case TensorKind::embedding: return {0.5F, 0.0F};
    case TensorKind::matrix: break;
  }
  float deviation = 1.0F / std::sqrt(static_cast<float>(spec.fan_in));
  // T5 does not scale its attention scores; its queries are initialised smaller instead.
  if (spec.name.starts_with("text.") && spec.name.ends_with("attn_q.weight")) {
    deviation /= std::sqrt(static_cast<float>(config.text.head_width));
  }
  return {deviation, 0.0F};
}

class RandomModel : public TensorSource {
 public:
  RandomModel(ModelConfig config, DType type, std::uint64_t seed) : config_(std::move(config)), type_(type), seed_(seed) {
    for (TensorSpec& spec : musicgen_layout(config_)) {
      std::string name = spec.name;
      tensors_.emplace(std::move(name), Tensor{std::move(spec), {}});
    }
  }

  const ModelConfig& config() const override { return config_; }
  bool has(std::string_view name) const override { return tensors_.contains(std::string(name)); }
  TensorView tensor(std::string_view name) const override {
    const auto found = tensors_.find(std::string(name));
    assert(found != tensors_.end() && "the architecture has no such tensor");
    if (found == tensors_.end()) return {};
    Tensor& tensor = found->second;
    const DType type = stored_type(tensor.spec, type_);
    const std::lock_guard lock(mutex_);
    if (tensor.bytes.empty()) {
      tensor.bytes = random_values(type, tensor.spec.shape, spread_of(tensor.spec, config_), seed_ ^ hash_of(name));
    }
    return {type, tensor.spec.shape, tensor.bytes};
  }

 private:
  struct Tensor {
    TensorSpec spec;
    std::vector<std::byte> bytes;  // empty until asked for
  };
  ModelConfig config_;
  DType type_;
  std::uint64_t seed_;
  mutable std::mutex mutex_;
  mutable std::unordered_map<std::string, Tensor> tensors_;
};

}  // namespace

Result<std::unique_ptr<TensorSource>> random_model(std::string_view shape, DType type, std::uint64_t seed) {
  for (const NamedShape& known : shapes) {
    if (known.name == shape) return std::make_unique<RandomModel>(config_of(known), type, seed);
  }
  return fail(ErrorCode::invalid_argument, "there is no shape '{}'; there are musicgen-small, musicgen-medium and musicgen-large",
              shape);
}

}  // namespace continuo::weights
