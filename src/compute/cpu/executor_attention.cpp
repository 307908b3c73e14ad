// Keys and values, and the three kinds of attention. A head of a row is one task; its result does not depend on the others.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "base/half.h"
#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

namespace {

std::int64_t run_bytes_of(const KvShape& shape, KvType type) {
  const std::int64_t elements = std::int64_t{2} * page_positions * shape.head_width;
  switch (type) {
    case KvType::f32: return elements * 4;
    case KvType::f16: return elements * 2;
    case KvType::int8: return elements + 2 * page_positions * static_cast<std::int64_t>(sizeof(float));
  }
  return 0;
}

}  // namespace

CpuKvPool::CpuKvPool(const KvShape& shape, KvType type, int pages)
    : KvPool(shape, pages),
      type_(type),
      run_bytes_(run_bytes_of(shape, type)),
      storage_(static_cast<std::size_t>(pages) * static_cast<std::size_t>(shape.layers * shape.heads) *
               static_cast<std::size_t>(run_bytes_)) {}

void CpuKvPool::fill_random(std::uint64_t seed) {
  const auto next = [&seed] {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's linear congruential generator: good enough here
    return static_cast<float>(static_cast<std::int32_t>(seed >> 32)) * 0x1.0p-31F;
  };
  const std::int64_t elements = std::int64_t{2} * page_positions * shape().head_width;
  for (std::byte* at = storage_.data(); at < storage_.data() + storage_.size(); at += run_bytes_) {
    for (std::int64_t i = 0; i < elements; ++i) {
      switch (type_) {
        case KvType::f32: reinterpret_cast<float*>(at)[i] = next(); break;
        case KvType::f16: reinterpret_cast<std::uint16_t*>(at)[i] = continuo::float_to_half(next()); break;
        case KvType::int8: at[i] = static_cast<std::byte>(static_cast<std::int8_t>(127.0F * next())); break;
      }
    }
    for (std::int64_t p = 0; type_ == KvType::int8 && p < 2 * page_positions; ++p)
      reinterpret_cast<float*>(at + elements)[p] = 1.0F / 127.0F;
  }
}

std::byte* CpuKvPool::run(int page, int layer, int head) const {
  return storage_.data() + ((static_cast<std::int64_t>(page) * shape().layers + layer) * shape().heads + head) * run_bytes_;
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

Result<std::unique_ptr<KvPool>> CpuExecutor::make_kv_pool(const KvShape& shape, KvType type, int pages) {
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

void CpuExecutor::store_position(std::byte* run, std::int64_t slot, const float* key, const float* value, std::int64_t width,
                                 KvType type) {
  const std::int64_t key_at = slot * width, value_at = (page_positions + slot) * width;
  switch (type) {
    case KvType::f32:
      std::copy(key, key + width, reinterpret_cast<float*>(run) + key_at);
      std::copy(value, value + width, reinterpret_cast<float*>(run) + value_at);
      break;
    case KvType::f16:
      kernels_.float_to_half(key, width, reinterpret_cast<std::uint16_t*>(run) + key_at);
      kernels_.float_to_half(value, width, reinterpret_cast<std::uint16_t*>(run) + value_at);
      break;
    case KvType::int8: {
      auto* scales = reinterpret_cast<float*>(run + 2 * page_positions * width);
      scales[slot] = kernels_.float_to_int8(key, width, reinterpret_cast<std::int8_t*>(run) + key_at);
      scales[page_positions + slot] = kernels_.float_to_int8(value, width, reinterpret_cast<std::int8_t*>(run) + value_at);
      break;
    }
  }
}

Tensor CpuExecutor::self_attention(Tensor qkv, KvPool& pool, int layer, std::span<const Row> rows) {
  auto& kv = static_cast<CpuKvPool&>(pool);
  const std::int64_t heads = kv.shape().heads, head_width = kv.shape().head_width, width = heads * head_width;
  assert(qkv.columns == 3 * width && qkv.rows == static_cast<std::int64_t>(rows.size()));
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = rows[r];
    assert(row.position >= 0 && row.position < row.sequence->capacity());
    const int page = row.sequence->pages()[static_cast<std::size_t>(row.position / page_positions)];
    const std::int64_t slot = row.position % page_positions;
    for (std::int64_t head = 0; head < heads; ++head) {
      const float* key = qkv.data + static_cast<std::int64_t>(r) * qkv.columns + width + head * head_width;
      store_position(kv.run(page, layer, static_cast<int>(head)), slot, key, key + width, head_width, kv.type());
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
    attend.type = kv.type();
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
