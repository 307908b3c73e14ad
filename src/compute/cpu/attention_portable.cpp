// The reference of the attention over pages, in plain loops.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "base/half.h"
#include "compute/cpu/kernels.h"

namespace continuo::compute::cpu {

namespace {

template <class Number>
Number number_at(const std::byte* p) {
  Number number;
  std::memcpy(&number, p, sizeof number);
  return number;
}

float float_at(const std::byte* p, KvType type) {
  return type == KvType::f16 ? half_to_float(number_at<std::uint16_t>(p)) : number_at<float>(p);
}

void start(const AttendPages& task, const float* q, AttendState& state, float* mix, float* query) {
  const int width = task.layout.width, padded = task.layout.padded;
  std::fill(mix, mix + padded, 0.0F);
  std::fill(query, query + padded, 0.0F);
  state = {lowest_score, 0.0F, 0.0F, 0};
  if (task.layout.type != KvType::int8) {
    for (int i = 0; i < width; ++i) query[i] = q[i] * task.scale;
    return;
  }
  float largest = 0.0F;
  for (int i = 0; i < width; ++i) largest = std::max(largest, std::fabs(q[i]));
  const float inverse = largest > smallest_unit ? largest_query / largest : 0.0F;
  for (int i = 0; i < width; ++i) query[i] = std::nearbyint(q[i] * inverse);
  state.q_scale = largest / largest_query * task.scale;
}

float score_of(const AttendPages& task, const std::byte* run, int position, const AttendState& state, const float* query) {
  const KvLayout& layout = task.layout;
  if (layout.type == KvType::int8) {
    std::int32_t sum = 0;
    for (int i = 0; i < layout.width; ++i) {
      sum += (static_cast<std::uint8_t>(run[layout.key_at(position, i)]) - 128) * static_cast<std::int32_t>(query[i]);
    }
    return static_cast<float>(sum) * (number_at<float>(run + layout.scales_at + position * 4) * state.q_scale);
  }
  float score = 0.0F;
  for (int i = 0; i < layout.width; ++i) score += query[i] * float_at(run + layout.key_at(position, i), layout.type);
  return score;
}

void mix_integers(const AttendPages& task, const std::byte* run, int count, float* weights, float correction, float* mix) {
  const KvLayout& layout = task.layout;
  float largest = 0.0F;
  for (int p = 0; p < count; ++p) {
    weights[p] *= number_at<float>(run + layout.scales_at + (page_positions + p) * 4);
    largest = std::max(largest, weights[p]);
  }
  const float unit = largest / largest_weight, inverse = unit > smallest_unit ? 1.0F / unit : 0.0F;
  for (int i = 0; i < layout.width; ++i) {
    std::int32_t sum = 0;
    for (int p = 0; p < count; ++p) {
      const auto value = static_cast<std::int8_t>(run[layout.value_at(p, i)]);
      sum += static_cast<std::int32_t>(std::nearbyint(weights[p] * inverse)) * value;
    }
    mix[i] = mix[i] * correction + static_cast<float>(sum) * unit;
  }
}

void attend_page(const AttendPages& task, const std::byte* run, int count, AttendState& state, float* mix, const float* query) {
  const KvLayout& layout = task.layout;
  float weights[page_positions];
  float top = state.top;
  for (int p = 0; p < count; ++p) {
    weights[p] = score_of(task, run, p, state, query);
    top = std::max(top, weights[p]);
  }
  const float correction = std::exp(state.top - top);
  float sum = 0.0F;
  for (int p = 0; p < count; ++p) sum += weights[p] = std::exp(weights[p] - top);
  state.top = top;
  state.sum = state.sum * correction + sum;
  if (layout.type == KvType::int8) return mix_integers(task, run, count, weights, correction, mix);
  for (int i = 0; i < layout.width; ++i) {
    float total = mix[i] * correction;
    for (int p = 0; p < count; ++p) total += weights[p] * float_at(run + layout.value_at(p, i), layout.type);
    mix[i] = total;
  }
}

}  // namespace

void portable_store_int8(const KvLayout& layout, std::int64_t slot, const float* key, const float* value, std::byte* run) {
  auto* scales = reinterpret_cast<float*>(run + layout.scales_at) + slot;
  for (const float* x : {key, value}) {
    float largest = 0.0F;
    for (int i = 0; i < layout.width; ++i) largest = std::max(largest, std::fabs(x[i]));
    const float inverse = largest > smallest_unit ? 127.0F / largest : 0.0F;
    scales[x == key ? 0 : page_positions] = largest / 127.0F;
    for (int i = 0; i < layout.width; ++i) {
      const auto whole = static_cast<int>(std::nearbyint(x[i] * inverse));
      run[x == key ? layout.key_at(slot, i) : layout.value_at(slot, i)] = static_cast<std::byte>(x == key ? whole + 128 : whole);
    }
  }
}

void portable_attend_pages(const AttendPages& task) {
  const KvLayout& layout = task.layout;
  for (int head = 0; head < task.heads; ++head) {
    float* floats = task.states + head * task.state_floats;
    auto& state = *reinterpret_cast<AttendState*>(floats);
    float* mix = floats + attend_header;
    float* query = mix + layout.padded;
    start(task, task.q + static_cast<std::int64_t>(head) * layout.width, state, mix, query);
    for (int begin = 0; begin < task.positions; begin += page_positions) {
      attend_page(task, task.runs[begin / page_positions] + head * layout.run_bytes,
                  std::min(page_positions, task.positions - begin), state, mix, query);
    }
  }
}

void portable_join_parts(const float* parts, std::int64_t count, std::int64_t stride, int width, float* out) {
  const auto state = [&](std::int64_t part) -> const AttendState& {
    return *reinterpret_cast<const AttendState*>(parts + part * stride);
  };
  float top = state(0).top;
  for (std::int64_t part = 1; part < count; ++part) top = std::max(top, state(part).top);
  std::fill(out, out + width, 0.0F);
  float sum = 0.0F;
  for (std::int64_t part = 0; part < count; ++part) {
    const float weight = std::exp(state(part).top - top);
    const float* mix = parts + part * stride + attend_header;
    sum += weight * state(part).sum;
    for (int i = 0; i < width; ++i) out[i] += weight * mix[i];
  }
  const float scale = 1.0F / sum;
  for (int i = 0; i < width; ++i) out[i] *= scale;
}

}  // namespace continuo::compute::cpu
