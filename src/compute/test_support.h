// For operator tests: random inputs, and every executor this machine can run.
#pragma once

#include <cmath>
#include <cstring>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "base/half.h"
#include "compute/executor.h"

namespace continuo::compute::testing {

inline std::vector<std::string> runnable_isas() {
  std::vector<std::string> names;
  for (const char* name : {"portable", "avx2", "avxvnni", "avx512vnni", "neon"}) {
    if (make_cpu_executor({1, name})) names.emplace_back(name);
  }
  return names;
}

class Numbers {
 public:
  explicit Numbers(unsigned seed) : generator_(seed) {}
  std::vector<float> normal(std::int64_t count, float scale = 1.0F) {
    std::normal_distribution<float> distribution(0.0F, scale);
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float& value : values) value = distribution(generator_);
    return values;
  }

 private:
  std::mt19937 generator_;
};

/// A tensor with its own bytes, in f32 or f16 (the floats are then rounded to what the halves hold).
struct OwnedTensor {
  std::vector<float> values;
  std::vector<std::byte> bytes;
  TensorView view;

  OwnedTensor(std::vector<float> numbers, Shape shape, DType type = DType::f32) : values(std::move(numbers)) {
    bytes.resize(values.size() * (type == DType::f16 ? 2 : 4));
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (type == DType::f16) {
        const std::uint16_t half = float_to_half(values[i]);
        values[i] = half_to_float(half);
        std::memcpy(bytes.data() + i * 2, &half, 2);
      } else {
        std::memcpy(bytes.data() + i * 4, &values[i], 4);
      }
    }
    view = {type, shape, bytes};
  }
  OwnedTensor(OwnedTensor&&) = default;
};

inline std::vector<float> read(Executor& executor, Tensor tensor) {
  std::vector<float> values(static_cast<std::size_t>(tensor.rows * tensor.columns));
  executor.read(tensor, values);
  return values;
}

/// Largest difference over the reference's root mean square.
inline double relative_error(const std::vector<float>& got, const std::vector<double>& want) {
  if (got.size() != want.size()) return INFINITY;
  double worst = 0.0, square = 0.0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double difference = std::abs(got[i] - want[i]);
    if (!(difference <= worst)) worst = difference;
    square += want[i] * want[i];
  }
  const double rms = std::sqrt(square / static_cast<double>(got.size()));
  return rms > 0.0 ? worst / rms : worst;
}

}  // namespace continuo::compute::testing
