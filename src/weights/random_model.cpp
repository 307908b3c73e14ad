// random_model(): weights of the true sizes for benchmarks. A tensor is made when it is first asked for, from the seed and its
// own name, so that its values do not depend on the order of the questions; it then lives as long as the source.

#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <functional>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/half.h"
#include "base/philox.h"
#include "weights/musicgen_layout.h"
#include "weights/tensor_source.h"

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

/// Standard deviation and mean that keep activations of order 1.
struct Spread {
  float deviation;
  float mean;
};

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

/// xoshiro256** (Blackman and Vigna, 2018): about a nanosecond for two floats.
class Xoshiro {
 public:
  explicit Xoshiro(PhiloxKey key) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const PhiloxCounter words = philox({i, 0, 0, 0}, key);
      state_[i] = std::uint64_t{words[0]} << 32 | words[1] | (i == 0 ? 1U : 0U);  // not all zero
    }
  }
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// FNV-1a: the same on every machine, unlike std::hash.
std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3U;
  return hash;
}

/// Uniform values of that mean and deviation.
std::vector<std::byte> make_values(const TensorSpec& spec, DType type, Spread spread, std::uint64_t seed) {
  const std::uint64_t mixed = seed ^ hash_of(spec.name);
  Xoshiro random({static_cast<std::uint32_t>(mixed), static_cast<std::uint32_t>(mixed >> 32)});
  const auto count = static_cast<std::size_t>(spec.shape.elements());
  const float step = spread.deviation * std::sqrt(3.0F) * 0x1p-31F;
  const auto value = [&](std::uint32_t bits) { return spread.mean + static_cast<float>(static_cast<std::int32_t>(bits)) * step; };
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(block_size(type).bytes));
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint64_t bits = random.next();
    const std::array<float, 2> pair = {value(static_cast<std::uint32_t>(bits)), value(static_cast<std::uint32_t>(bits >> 32))};
    const std::size_t present = std::min<std::size_t>(2, count - i);
    if (type == DType::f32) {
      std::memcpy(bytes.data() + i * sizeof(float), pair.data(), present * sizeof(float));
    } else {
      const std::array<std::uint16_t, 2> halves = {float_to_half(pair[0]), float_to_half(pair[1])};
      std::memcpy(bytes.data() + i * sizeof(std::uint16_t), halves.data(), present * sizeof(std::uint16_t));
    }
  }
  return bytes;
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
    const DType type = tensor.spec.always_f32() ? DType::f32 : type_;
    const std::lock_guard lock(mutex_);
    if (tensor.bytes.empty()) tensor.bytes = make_values(tensor.spec, type, spread_of(tensor.spec, config_), seed_);
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
  if (type != DType::f32 && type != DType::f16) {
    return fail(ErrorCode::unsupported, "random weights of type {} are not supported by this version yet; f32 and f16 are",
                continuo::name_of(type));
  }
  for (const NamedShape& known : shapes) {
    if (known.name == shape) return std::make_unique<RandomModel>(config_of(known), type, seed);
  }
  return fail(ErrorCode::invalid_argument, "there is no shape '{}'; there are musicgen-small, musicgen-medium and musicgen-large",
              shape);
}

}  // namespace continuo::weights
