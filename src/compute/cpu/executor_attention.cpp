// Keys and values, and the three kinds of attention. A head of a row is one task; its result does not depend on the others.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

CpuKvPool::CpuKvPool(const KvShape& shape, DType type, int pages)
    : KvPool(shape, pages),
      type_(type),
      storage_(static_cast<std::size_t>(pages) * static_cast<std::size_t>(shape.layers * shape.heads) *
               static_cast<std::size_t>(shape.head_width) * 2 * page_positions * (type == DType::f16 ? 2 : 4)) {}

void CpuKvPool::fill_random(std::uint64_t seed) {
  const std::size_t count = storage_.size() / static_cast<std::size_t>(element_bytes());
  for (std::size_t i = 0; i < count; ++i) {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's linear congruential generator: good enough here
    const float value = static_cast<float>(static_cast<std::int32_t>(seed >> 32)) * 0x1.0p-31F;
    if (type_ == DType::f16) {
      reinterpret_cast<std::uint16_t*>(storage_.data())[i] = continuo::float_to_half(value);
    } else {
      reinterpret_cast<float*>(storage_.data())[i] = value;
    }
  }
}

std::byte* CpuKvPool::run(int page, int layer, int head) const {
  const std::int64_t index = (static_cast<std::int64_t>(page) * shape().layers + layer) * shape().heads + head;
  return storage_.data() + index * 2 * page_positions * shape().head_width * element_bytes();
}

CpuCrossKv::CpuCrossKv(int layers, int heads, int head_width, int tokens)
    : heads_(heads),
      head_width_(head_width),
      tokens_(tokens),
      storage_(static_cast<std::size_t>(layers) * static_cast<std::size_t>(heads) * static_cast<std::size_t>(head_width) *
               static_cast<std::size_t>(tokens) * 2 * sizeof(float)) {}

std::byte* CpuCrossKv::run(int layer, int head) const {
  const std::int64_t index = static_cast<std::int64_t>(layer) * heads_ + head;
  return storage_.data() + index * 2 * tokens_ * head_width_ * static_cast<std::int64_t>(sizeof(float));
}

Result<std::unique_ptr<KvPool>> CpuExecutor::make_kv_pool(const KvShape& shape, DType type, int pages) {
  if (type != DType::f32 && type != DType::f16) {
    return fail(ErrorCode::unsupported, "keys and values of type {} are not supported by this version; choose f32 or f16", name_of(type));
  }
  return std::make_unique<CpuKvPool>(shape, type, pages);
}

std::unique_ptr<CrossKv> CpuExecutor::make_cross_kv(int layers, int heads, int head_width, int tokens) {
  return std::make_unique<CpuCrossKv>(layers, heads, head_width, tokens);
}

void CpuExecutor::store_cross(CrossKv& cross, int layer, Tensor kv) {
  auto& mine = static_cast<CpuCrossKv&>(cross);
  const std::int64_t head_width = mine.head_width(), width = mine.heads() * head_width;
  assert(kv.columns == 2 * width && kv.rows == mine.tokens());
  for (int head = 0; head < mine.heads(); ++head) {
    auto* run = reinterpret_cast<float*>(mine.run(layer, head));
    for (std::int64_t t = 0; t < kv.rows; ++t) {
      const float* row = kv.data + t * kv.columns + head * head_width;
      std::copy(row, row + head_width, run + t * head_width);
      std::copy(row + width, row + width + head_width, run + (kv.rows + t) * head_width);
    }
  }
}

Tensor CpuExecutor::encoder_attention(Tensor qkv, int heads, float scale, std::span<const float> bias) {
  const std::int64_t tokens = qkv.rows, width = qkv.columns / 3, head_width = width / heads;
  Tensor y = make(tokens, width);
  const std::int64_t block = 32;  // queries a task
  const std::int64_t blocks = (tokens + block - 1) / block;
  float* gathered = arena_.floats(heads * 2 * tokens * head_width);
  float* scores = arena_.floats(heads * blocks * tokens);
  pool_.parallel_for(heads, [&](std::int64_t head) {
    float* run = gathered + head * 2 * tokens * head_width;
    for (std::int64_t t = 0; t < tokens; ++t) {
      const float* key = qkv.data + t * qkv.columns + width + head * head_width;
      std::copy(key, key + head_width, run + t * head_width);
      std::copy(key + width, key + width + head_width, run + (tokens + t) * head_width);
    }
  });
  pool_.parallel_for(heads * blocks, [&](std::int64_t task) {
    const std::int64_t head = task / blocks;
    const auto* run = reinterpret_cast<const std::byte*>(gathered + head * 2 * tokens * head_width);
    for (std::int64_t query = task % blocks * block; query < std::min(tokens, (task % blocks + 1) * block); ++query) {
      Attend attend{};
      attend.q = qkv.data + query * qkv.columns + head * head_width;
      attend.scale = scale;
      attend.width = static_cast<int>(head_width);
      attend.runs = &run;
      attend.positions_a_run = static_cast<int>(tokens);
      attend.positions = tokens;
      attend.scores = scores + task * tokens;
      attend.out = y.data + query * width + head * head_width;
      attend.bias = bias.data() + head * (2 * tokens - 1) + (tokens - 1 - query);
      kernels_.attend(attend);
    }
  });
  return y;
}

Tensor CpuExecutor::self_attention(Tensor qkv, KvPool& pool, int layer, std::span<const Row> rows) {
  auto& kv = static_cast<CpuKvPool&>(pool);
  const std::int64_t heads = kv.shape().heads, head_width = kv.shape().head_width, width = heads * head_width;
  assert(qkv.columns == 3 * width && qkv.rows == static_cast<std::int64_t>(rows.size()));
  const bool half = kv.type() == DType::f16;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    assert(row.position >= 0 && row.position < row.sequence->capacity());
    const int page = row.sequence->pages()[static_cast<std::size_t>(row.position / page_positions)];
    const std::int64_t slot = row.position % page_positions;
    for (std::int64_t head = 0; head < heads; ++head) {
      const float* key = qkv.data + static_cast<std::int64_t>(r) * qkv.columns + width + head * head_width;
      std::byte* run = kv.run(page, layer, static_cast<int>(head));
      if (half) {
        auto* out = reinterpret_cast<std::uint16_t*>(run);
        kernels_.float_to_half(key, head_width, out + slot * head_width);
        kernels_.float_to_half(key + width, head_width, out + (page_positions + slot) * head_width);
      } else {
        auto* out = reinterpret_cast<float*>(run);
        std::copy(key, key + head_width, out + slot * head_width);
        std::copy(key + width, key + width + head_width, out + (page_positions + slot) * head_width);
      }
    }
  }
  Tensor y = make(qkv.rows, width);
  int longest = 0;
  for (const Row& row : rows) longest = std::max(longest, row.position + 1);
  const std::int64_t pages = KvPool::pages_for(longest);
  const std::int64_t tasks = qkv.rows * heads;
  float* scores = arena_.floats(tasks * longest);
  // Pointers to the pages of each task, in arena memory (two floats hold one).
  auto* runs = reinterpret_cast<const std::byte**>(arena_.floats(tasks * pages * 2));
  static_assert(sizeof(const std::byte*) == 2 * sizeof(float));
  pool_.parallel_for(tasks, [&](std::int64_t task) {
    const std::int64_t r = task / heads, head = task % heads;
    const Row& row = rows[static_cast<std::size_t>(r)];
    const std::byte** mine = runs + task * pages;
    for (int p = 0; p < KvPool::pages_for(row.position + 1); ++p) {
      mine[p] = kv.run(row.sequence->pages()[static_cast<std::size_t>(p)], layer, static_cast<int>(head));
    }
    Attend attend{};
    attend.q = qkv.data + r * qkv.columns + head * head_width;
    attend.scale = 1.0F / std::sqrt(static_cast<float>(head_width));
    attend.width = static_cast<int>(head_width);
    attend.runs = mine;
    attend.positions_a_run = page_positions;
    attend.positions = row.position + 1;
    attend.half = half;
    attend.scores = scores + task * longest;
    attend.out = y.data + r * width + head * head_width;
    kernels_.attend(attend);
  });
  return y;
}

Tensor CpuExecutor::cross_attention(Tensor q, int layer, std::span<const Row> rows) {
  Tensor y = make(q.rows, q.columns);
  std::int64_t longest = 0, heads = 1;
  for (const Row& row : rows) {
    if (row.conditioning == nullptr) continue;
    const auto& cross = static_cast<const CpuCrossKv&>(*row.conditioning);
    longest = std::max<std::int64_t>(longest, cross.tokens());
    heads = cross.heads();
  }
  const std::int64_t head_width = q.columns / heads;
  float* scores = arena_.floats(q.rows * heads * longest);
  pool_.parallel_for(q.rows * heads, [&](std::int64_t task) {
    const std::int64_t r = task / heads, head = task % heads;
    float* out = y.data + r * q.columns + head * head_width;
    const auto* cross = static_cast<const CpuCrossKv*>(rows[static_cast<std::size_t>(r)].conditioning);
    if (cross == nullptr) {
      std::fill(out, out + head_width, 0.0F);
      return;
    }
    const std::byte* run = cross->run(layer, static_cast<int>(head));
    Attend attend{};
    attend.q = q.data + r * q.columns + head * head_width;
    attend.scale = 1.0F / std::sqrt(static_cast<float>(head_width));
    attend.width = static_cast<int>(head_width);
    attend.runs = &run;
    attend.positions_a_run = cross->tokens();
    attend.positions = cross->tokens();
    attend.scores = scores + task * longest;
    attend.out = out;
    kernels_.attend(attend);
  });
  return y;
}

}  // namespace continuo::compute::cpu
