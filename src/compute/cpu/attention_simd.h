// The vectorised attention over pages; included after kernels_simd.h, once in each translation unit.
#include "compute/cpu/attention_kernels.h"

namespace continuo::compute::cpu {

namespace {

constexpr int page_vectors = page_positions / lanes;

Ints round_to_ints(Floats v) {
  const Floats magic = all(12582912.0F);  // 1.5 x 2^23: adding it rounds to the nearest integer
  return __builtin_convertvector((v + magic) - magic, Ints);
}

/// Stores 16-bit integers for products of 16-bit pairs, or, for byte products, their upper and lower bytes (`apart` bytes between
/// the two). Signed: both bytes are signed and upper x 256 + lower is the number; else both are unsigned.
template <bool is_signed>
void store_split(std::byte* at, std::int64_t index, std::int64_t apart, Ints v) {
#if CONTINUO_VNNI
  const Ints upper = is_signed ? (v + 128) >> 8 : v >> 8;
  const Ints lower = is_signed ? v - (upper << 8) : v & 255;
  store_bytes(at + index, upper);
  store_bytes(at + apart + index, lower);
#else
  (void)apart;
  using Words = std::int16_t __attribute__((vector_size(lanes * 2), aligned(2), may_alias));
  *reinterpret_cast<Words*>(at + index * 2) = __builtin_convertvector(v, Words);
#endif
}

/// Fills in a state for one head: nothing seen yet, and the query in the form that the scores want.
template <KvType type>
void start(const AttendPages& task, const float* q, AttendState& state, float* mix, float* query) {
  const int width = task.layout.width, padded = task.layout.padded;
  float* plain = type == KvType::int8 ? mix : query;
  for (int i = 0; i < padded; ++i) plain[i] = i < width ? q[i] : 0.0F;
  if constexpr (type != KvType::int8) {
    for (int i = 0; i < padded; i += lanes) store(query + i, load(query + i) * task.scale);
  } else {
    Floats top = all(0.0F);
    for (int i = 0; i < padded; i += lanes) {
      const Floats value = load(plain + i);
      top = larger(top, value < 0.0F ? -value : value);
    }
    const float largest = largest_of(top), inverse = largest > smallest_unit ? largest_query / largest : 0.0F;
    Ints sums = Ints{};
    for (int i = 0; i < padded; i += lanes) {
      const Ints value = round_to_ints(load(plain + i) * inverse);
      sums += value;
      store_split<true>(reinterpret_cast<std::byte*>(query), i, padded, value);
    }
    state.q_scale = largest / largest_query * task.scale;
    state.q_sum = 0;
    for (int lane = 0; lane < lanes; ++lane) state.q_sum += sums[lane];
  }
  state.top = lowest_score;
  state.sum = 0.0F;
  for (int i = 0; i < padded; i += lanes) store(mix + i, all(0.0F));
}

/// A page's scores before their scales: [32] as vectors.
void integer_scores(const std::byte* keys, const std::byte* query, const AttendState& state, int padded, Ints* out) {
#if CONTINUO_VNNI
  // (key + key_offset) x query, in two bytes of the query: 256 upper + lower. What the offset adds is taken off at the end.
  Wide upper[page_vectors], lower[page_vectors];
  for (int v = 0; v < page_vectors; ++v) upper[v] = lower[v] = wide_all(0);
  for (int i = 0; i < padded; i += 4, keys += page_positions * 4) {
    const Wide high = wide_all(four_bytes(query + i)), low = wide_all(four_bytes(query + padded + i));
    for (int v = 0; v < page_vectors; ++v) {
      const Wide key = load_key(keys + v * lanes * 4);
      upper[v] = multiply_key(upper[v], key, high);
      lower[v] = multiply_key(lower[v], key, low);
    }
  }
  for (int v = 0; v < page_vectors; ++v) {
    out[v] = (__builtin_bit_cast(Ints, upper[v]) << 8) + __builtin_bit_cast(Ints, lower[v]) - key_offset * state.q_sum;
  }
#else
  // Four positions of four dimensions a vector; pairs of sums are added at the end.
  __m256i sums[8];
  for (__m256i& sum : sums) sum = _mm256_setzero_si256();
  for (int i = 0; i < padded; i += 4, keys += page_positions * 4) {
    std::int64_t four;
    __builtin_memcpy(&four, query + i * 2, 8);
    const __m256i values = _mm256_set1_epi64x(four);
    for (int v = 0; v < 8; ++v) {
      const __m256i key = _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(keys + v * 16)));
      sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(key, values));
    }
  }
  const __m256i offset = _mm256_set1_epi32(128 * state.q_sum);
  for (int v = 0; v < page_vectors; ++v) {
    const __m256i mixed = _mm256_hadd_epi32(sums[2 * v], sums[2 * v + 1]);
    const __m256i sum = _mm256_sub_epi32(_mm256_permute4x64_epi64(mixed, 0b11'01'10'00), offset);
    out[v] = __builtin_bit_cast(Ints, sum);
  }
#endif
}

/// What mixing a page's values as integers needs besides the values.
struct IntegerMix {
  const std::byte* weights;  // 16-bit, as store_split leaves them
  int groups;                // of four positions
  int padded;
  float correction;  // of what is there
  float unit;        // of a product
};

#if CONTINUO_VNNI
/// mix = mix x correction + (weights x values) x unit, for `vectors` vectors from dimension `first` on.
template <int vectors>
void mix_some(const IntegerMix& task, const std::byte* values, int first, float* mix) {
  Wide upper[vectors], lower[vectors];
  for (int v = 0; v < vectors; ++v) upper[v] = lower[v] = wide_all(0);
  const std::int64_t row = static_cast<std::int64_t>(task.padded) * 4;
  const std::byte* at = values + static_cast<std::int64_t>(first) * 4;
  for (int g = 0; g < task.groups; ++g, at += row) {
    const Wide high = wide_all(four_bytes(task.weights + g * 4));
    const Wide low = wide_all(four_bytes(task.weights + page_positions + g * 4));
    for (int v = 0; v < vectors; ++v) {
      const Wide value = load_value(at + v * lanes * 4);
      upper[v] = multiply_value(upper[v], high, value);
      lower[v] = multiply_value(lower[v], low, value);
    }
  }
  const Ints offset = values_offset(task.weights);
  for (int v = 0; v < vectors; ++v) {
    const Ints sum = (__builtin_bit_cast(Ints, upper[v]) << 8) + __builtin_bit_cast(Ints, lower[v]) - offset;
    float* to = mix + first + v * lanes;
    store(to, load(to) * task.correction + __builtin_convertvector(sum, Floats) * task.unit);
  }
}

void mix_integers(const IntegerMix& task, const std::byte* values, float* mix) {
  int first = 0;
  for (; first + 4 * lanes <= task.padded; first += 4 * lanes) mix_some<4>(task, values, first, mix);
  for (; first < task.padded; first += lanes) mix_some<1>(task, values, first, mix);
}
#else
/// mix = mix x correction + (weights x values) x unit. Four dimensions of four positions a vector, 16 dimensions at a time.
void mix_integers(const IntegerMix& task, const std::byte* values, float* mix) {
  const std::int64_t row = static_cast<std::int64_t>(task.padded) * 4;
  for (int first = 0; first < task.padded; first += 16) {
    __m256i sums[4];
    for (__m256i& sum : sums) sum = _mm256_setzero_si256();
    const std::byte* at = values + static_cast<std::int64_t>(first) * 4;
    for (int g = 0; g < task.groups; ++g, at += row) {
      std::int64_t four;
      __builtin_memcpy(&four, task.weights + g * 8, 8);
      const __m256i weight = _mm256_set1_epi64x(four);
      for (int v = 0; v < 4; ++v) {
        const __m256i value = _mm256_cvtepi8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(at + v * 16)));
        sums[v] = _mm256_add_epi32(sums[v], _mm256_madd_epi16(value, weight));
      }
    }
    for (int v = 0; v < 2; ++v) {
      const __m256i mixed = _mm256_permute4x64_epi64(_mm256_hadd_epi32(sums[2 * v], sums[2 * v + 1]), 0b11'01'10'00);
      float* to = mix + first + v * lanes;
      store(to, load(to) * task.correction + __builtin_convertvector(__builtin_bit_cast(Ints, mixed), Floats) * task.unit);
    }
  }
}
#endif

template <bool half>
void mix_floats(const std::byte* values, const float* weights, int count, int padded, float correction, float* mix) {
  const auto add = [&](int first, int vectors) __attribute__((always_inline)) {
    Floats sums[4];
    for (int v = 0; v < vectors; ++v) sums[v] = load(mix + first + v * lanes) * correction;
    for (int p = 0; p < count; ++p) {
      const Floats weight = all(weights[p]);
      for (int v = 0; v < vectors; ++v) {
        sums[v] += weight * load_any<half>(values, static_cast<std::int64_t>(p) * padded + first + v * lanes);
      }
    }
    for (int v = 0; v < vectors; ++v) store(mix + first + v * lanes, sums[v]);
  };
  int first = 0;
  for (; first + 4 * lanes <= padded; first += 4 * lanes) add(first, 4);
  for (; first < padded; first += lanes) add(first, 1);
}

/// One page of one head. count: its positions that are heard; the others may hold anything.
template <KvType type>
void attend_page(const AttendPages& task, const std::byte* run, int count, AttendState& state, float* mix, const float* query) {
  const KvLayout& layout = task.layout;
  const auto* scales = reinterpret_cast<const float*>(run + layout.scales_at);
  Floats scores[page_vectors];
  if constexpr (type == KvType::int8) {
    Ints sums[page_vectors];
    integer_scores(run, reinterpret_cast<const std::byte*>(query), state, layout.padded, sums);
    for (int v = 0; v < page_vectors; ++v) {
      scores[v] = __builtin_convertvector(sums[v], Floats) * (load(scales + v * lanes) * state.q_scale);
    }
  } else {
    for (Floats& score : scores) score = all(0.0F);
    for (int i = 0; i < layout.width; ++i) {
      const Floats value = all(query[i]);
      for (int v = 0; v < page_vectors; ++v) {
        scores[v] += value * load_any<type == KvType::f16>(run, static_cast<std::int64_t>(i) * page_positions + v * lanes);
      }
    }
  }
  Ints heard[page_vectors];
  for (int v = 0; v < page_vectors; ++v) {
    Ints index;
    for (int lane = 0; lane < lanes; ++lane) index[lane] = v * lanes + lane;
    heard[v] = index < count;
    scores[v] = heard[v] ? scores[v] : all(lowest_score);
  }
  Floats top = scores[0];
  for (int v = 1; v < page_vectors; ++v) top = larger(top, scores[v]);
  const float page_top = largest_of(top), new_top = page_top > state.top ? page_top : state.top;
  const float correction = exponential(all(state.top - new_top))[0];
  state.top = new_top;
  Floats weights[page_vectors], sum = all(0.0F);
  for (int v = 0; v < page_vectors; ++v) {
    weights[v] = heard[v] ? exponential(scores[v] - new_top) : all(0.0F);
    sum += weights[v];
  }
  state.sum = state.sum * correction + sum_of(sum);
  if constexpr (type == KvType::int8) {
    Floats largest = all(0.0F);
    for (int v = 0; v < page_vectors; ++v) {
      weights[v] = heard[v] ? weights[v] * load(scales + page_positions + v * lanes) : all(0.0F);
      largest = larger(largest, weights[v]);
    }
    const float unit = largest_of(largest) / largest_weight, inverse = unit > smallest_unit ? 1.0F / unit : 0.0F;
    alignas(64) std::byte whole[2 * page_positions];
    for (int v = 0; v < page_vectors; ++v) {
      store_split<false>(whole, v * lanes, page_positions, round_to_ints(weights[v] * inverse));
    }
    const IntegerMix task_of_page{whole, (count + 3) / 4, layout.padded, correction, unit};
    mix_integers(task_of_page, run + layout.values_at, mix);
  } else {
    alignas(64) float plain[page_positions];
    for (int v = 0; v < page_vectors; ++v) store(plain + v * lanes, weights[v]);
    mix_floats<type == KvType::f16>(run + layout.values_at, plain, count, layout.padded, correction, mix);
  }
}

template <KvType type>
void attend_pages_of(const AttendPages& task) {
  const std::int64_t state_floats = task.state_floats, run_bytes = task.layout.run_bytes;
  const int pages = (task.positions + page_positions - 1) / page_positions;
  const auto mix_of = [&](int head) { return task.states + head * state_floats + attend_header; };
  for (int head = 0; head < task.heads; ++head) {
    float* mix = mix_of(head);
    start<type>(task, task.q + static_cast<std::int64_t>(head) * task.layout.width,
                *reinterpret_cast<AttendState*>(task.states + head * state_floats), mix, mix + task.layout.padded);
  }
  // Page by page, heads inside: that is the order in memory, which the machine's own prefetching follows; any other order halves
  // the speed, even with prefetch instructions.
  for (int page = 0; page < pages; ++page) {
    const int left = task.positions - page * page_positions, count = left < page_positions ? left : page_positions;
    for (int head = 0; head < task.heads; ++head) {
      attend_page<type>(task, task.runs[page] + head * run_bytes, count,
                        *reinterpret_cast<AttendState*>(task.states + head * state_floats), mix_of(head),
                        mix_of(head) + task.layout.padded);
    }
  }
}

void join_parts(const float* parts, std::int64_t count, std::int64_t stride, int width, float* out) {
  const auto state = [&](std::int64_t part) { return reinterpret_cast<const AttendState*>(parts + part * stride); };
  float top = state(0)->top;
  for (std::int64_t part = 1; part < count; ++part) top = state(part)->top > top ? state(part)->top : top;
  const int whole = width / lanes * lanes;
  float sum = 0.0F;
  for (std::int64_t part = 0; part < count; ++part) {
    const Floats weights = exponential(all(state(part)->top - top));
    const float weight = weights[0];
    const float* mix = parts + part * stride + attend_header;
    sum += weight * state(part)->sum;
    for (int i = 0; i < whole; i += lanes) store(out + i, (part == 0 ? all(0.0F) : load(out + i)) + weights * load(mix + i));
    for (int i = whole; i < width; ++i) out[i] = (part == 0 ? 0.0F : out[i]) + weight * mix[i];
  }
  const float scale = 1.0F / sum;
  for (int i = 0; i < whole; i += lanes) store(out + i, load(out + i) * scale);
  for (int i = whole; i < width; ++i) out[i] *= scale;
}

/// Rounds x [width] to whole steps of the returned scale, one integer a place.
float round_to_int8(const float* x, int width, std::int32_t* out) {
  const int whole = width / lanes * lanes;
  Floats top = all(0.0F);
  for (int i = 0; i < whole; i += lanes) {
    const Floats value = load(x + i);
    top = larger(top, value < 0.0F ? -value : value);
  }
  float largest = largest_of(top);
  for (int i = whole; i < width; ++i) largest = __builtin_fabsf(x[i]) > largest ? __builtin_fabsf(x[i]) : largest;
  const float inverse = largest > smallest_unit ? 127.0F / largest : 0.0F;
  using IntsAnywhere = std::int32_t __attribute__((vector_size(lanes * 4), aligned(4), may_alias));
  for (int i = 0; i < whole; i += lanes) *reinterpret_cast<IntsAnywhere*>(out + i) = round_to_ints(load(x + i) * inverse);
  for (int i = whole; i < width; ++i) out[i] = round_to_ints(all(x[i] * inverse))[0];
  return largest / 127.0F;
}

void store_int8(const KvLayout& layout, std::int64_t slot, const float* key, const float* value, std::byte* run) {
  constexpr int at_once = 256;  // dimensions
  auto* scales = reinterpret_cast<float*>(run + layout.scales_at) + slot;
  if (layout.width > at_once) return portable_store_int8(layout, slot, key, value, run);
  std::int32_t whole[at_once];
  scales[0] = round_to_int8(key, layout.width, whole);
  for (int i = 0; i < layout.width; ++i) {
    run[i / 4 * (page_positions * 4) + slot * 4 + i % 4] = static_cast<std::byte>(whole[i] + 128);
  }
  scales[page_positions] = round_to_int8(value, layout.width, whole);
  std::byte* values = run + layout.values_at + slot / 4 * layout.padded * 4 + slot % 4;
  for (int i = 0; i < layout.width; ++i) values[i * 4] = static_cast<std::byte>(whole[i]);
}

void attend_pages(const AttendPages& task) {
  switch (task.layout.type) {
    case KvType::f32: attend_pages_of<KvType::f32>(task); break;
    case KvType::f16: attend_pages_of<KvType::f16>(task); break;
    case KvType::int8: attend_pages_of<KvType::int8>(task); break;
  }
}

}  // namespace

}  // namespace continuo::compute::cpu
