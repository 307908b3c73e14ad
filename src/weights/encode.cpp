#include "weights/encode.h"

#include <ggml.h>

#include <algorithm>
#include <atomic>
#include <cassert>
#include <cmath>
#include <cstdint>
#include <cstring>

#include "base/half.h"
#include "base/quant_blocks.h"

namespace continuo::weights {

namespace {

constexpr std::size_t task_elements = std::size_t{1} << 16;  // a multiple of every block

constexpr std::uint16_t half_infinity = 0x7C00;
constexpr std::uint16_t bfloat_infinity = 0x7F80;

bool infinite_scale(const std::byte* scale) { return (block_scale_bits(scale) & half_infinity) == half_infinity; }

/// The index of a value that became infinite, or the number of values.
std::size_t encode_floats(DType type, std::span<const float> values, std::byte* out) {
  std::size_t bad = values.size();
  for (std::size_t i = 0; i < values.size(); ++i) {
    const std::uint16_t bits = type == DType::f16 ? float_to_half(values[i]) : float_to_bfloat(values[i]);
    const std::uint16_t infinity = type == DType::f16 ? half_infinity : bfloat_infinity;
    if ((bits & 0x7FFFU) == infinity) bad = std::min(bad, i);
    std::memcpy(out + i * sizeof(bits), &bits, sizeof(bits));
  }
  return bad;
}

std::size_t encode_blocks(DType type, std::span<const float> values, std::byte* out) {
  const BlockSize size = block_size(type);
  const auto elements = static_cast<std::size_t>(size.elements);
  const std::size_t blocks = values.size() / elements;
  ggml_quantize_chunk(static_cast<ggml_type>(type), values.data(), out, 0, static_cast<std::int64_t>(blocks), size.elements,
                      nullptr);
  for (std::size_t b = 0; b < blocks; ++b) {
    const std::byte* block = out + b * static_cast<std::size_t>(size.bytes);
    if (!infinite_scale(block) && !(type == DType::q4_k && infinite_scale(block + 2))) continue;
    const auto own = values.subspan(b * elements, elements);
    const auto largest = std::max_element(own.begin(), own.end(), [](float a, float c) { return std::abs(a) < std::abs(c); });
    return b * elements + static_cast<std::size_t>(largest - own.begin());
  }
  return values.size();
}

}  // namespace

std::optional<float> encode(DType type, std::span<const float> values, std::span<std::byte> out, ThreadPool& threads) {
  const BlockSize size = block_size(type);
  assert(values.size() % static_cast<std::size_t>(size.elements) == 0);
  assert(out.size() == values.size() / static_cast<std::size_t>(size.elements) * static_cast<std::size_t>(size.bytes));
  if (type == DType::f32) {
    std::memcpy(out.data(), values.data(), out.size());
    return std::nullopt;
  }
  std::atomic<std::size_t> bad = values.size();  // the first, so that the message is the same every time
  const std::size_t tasks = (values.size() + task_elements - 1) / task_elements;
  threads.parallel_for(static_cast<std::int64_t>(tasks), [&](std::int64_t task) {
    const std::size_t first = static_cast<std::size_t>(task) * task_elements;
    const auto part = values.subspan(first, std::min(task_elements, values.size() - first));
    std::byte* to = out.data() + first / static_cast<std::size_t>(size.elements) * static_cast<std::size_t>(size.bytes);
    const std::size_t found = size.elements == 1 ? encode_floats(type, part, to) : encode_blocks(type, part, to);
    if (found == part.size()) return;
    std::size_t seen = bad;
    while (first + found < seen && !bad.compare_exchange_weak(seen, first + found)) {
    }
  });
  if (bad == values.size()) return std::nullopt;
  return values[bad];
}

}  // namespace continuo::weights
