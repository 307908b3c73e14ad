// Keys and values, and the three kinds of attention.
#include <algorithm>
#include <cassert>
#include <cmath>
#include <cstring>

#include "base/half.h"
#include "compute/cpu/cpu_executor.h"

namespace continuo::compute::cpu {

namespace {

constexpr int tasks_a_thread = 2;
constexpr int least_heads = 4;  // of a task; fewer are not worth the hand-over

std::size_t storage_bytes(const KvShape& shape, const KvLayout& layout, int pages) {
  return static_cast<std::size_t>(pages) * static_cast<std::size_t>(shape.layers * shape.heads) *
         static_cast<std::size_t>(layout.run_bytes);
}

}  // namespace

CpuKvPool::CpuKvPool(const KvShape& shape, KvType type, int pages)
    : KvPool(shape, pages),
      layout_(type, shape.head_width),
      page_bytes_(static_cast<std::int64_t>(storage_bytes(shape, layout_, 1))),
      blocks_(static_cast<std::size_t>((pages + pages_a_block - 1) / pages_a_block)) {}

void CpuKvPool::prepare(std::span<const int> pages) {
  for (const int page : pages) {
    Block& block = blocks_[static_cast<std::size_t>(page / pages_a_block)];
    if (block.owned++ == 0) block.memory = AlignedBytes(static_cast<std::size_t>(page_bytes_ * pages_a_block));
  }
}

void CpuKvPool::dispose(std::span<const int> pages) {
  for (const int page : pages) {
    Block& block = blocks_[static_cast<std::size_t>(page / pages_a_block)];
    if (--block.owned == 0) block.memory = {};
  }
}

void CpuKvPool::fill_random(std::uint64_t seed) {
  const auto next = [&seed] {
    seed = seed * 6364136223846793005ULL + 1442695040888963407ULL;  // Knuth's linear congruential generator: good enough here
    return static_cast<std::int32_t>(seed >> 32);
  };
  const auto next_float = [&next] { return static_cast<float>(next()) * 0x1.0p-31F; };
  const auto fill = [&](std::byte* at) {
    for (std::int64_t i = 0; i < layout_.scales_at / layout_.element_bytes; ++i) {
      switch (layout_.type) {
        case KvType::f32: reinterpret_cast<float*>(at)[i] = next_float(); break;
        case KvType::f16: reinterpret_cast<std::uint16_t*>(at)[i] = continuo::float_to_half(next_float()); break;
        case KvType::int8: at[i] = static_cast<std::byte>(next() >> 16); break;
      }
    }
    for (std::int64_t p = 0; layout_.type == KvType::int8 && p < 2 * page_positions; ++p)
      reinterpret_cast<float*>(at + layout_.scales_at)[p] = 1.0F / 127.0F;
  };
  for (const Block& block : blocks_) {
    for (std::size_t at = 0; at < block.memory.size(); at += static_cast<std::size_t>(layout_.run_bytes))
      fill(block.memory.data() + at);
  }
}

CpuCrossKv::CpuCrossKv(const KvShape& shape, KvType type, int tokens)
    : shape_(shape),
      layout_(type, shape.head_width),
      tokens_(tokens),
      storage_(storage_bytes(shape, layout_, KvPool::pages_for(tokens))) {
  // It may be written to a file, which is no place for what lay in this memory before.
  std::memset(storage_.data(), 0, storage_.size());
}

std::byte* CpuCrossKv::run(int page, int layer) const {
  return storage_.data() +
         (static_cast<std::int64_t>(layer) * KvPool::pages_for(tokens_) + page) * shape_.heads * layout_.run_bytes;
}

std::int64_t CpuExecutor::kv_page_bytes(const KvShape& shape, KvType type) const { return compute::kv_page_bytes(shape, type); }

Result<std::unique_ptr<KvPool>> CpuExecutor::make_kv_pool(const KvShape& shape, KvType type, int pages) {
  return std::make_unique<CpuKvPool>(shape, type, pages);
}

std::unique_ptr<CrossKv> CpuExecutor::make_cross_kv(const KvShape& shape, KvType type, int tokens) {
  return std::make_unique<CpuCrossKv>(shape, type, tokens);
}

void CpuExecutor::store_position(const KvLayout& layout, int heads, std::byte* run, std::int64_t slot, const float* key,
                                 const float* value) const {
  const int width = layout.width;
  for (int head = 0; head < heads; ++head, run += layout.run_bytes, key += width, value += width) {
    switch (layout.type) {
      case KvType::f32:
        for (int i = 0; i < width; ++i) std::memcpy(run + layout.key_at(slot, i), key + i, sizeof(float));
        std::copy(value, value + width, reinterpret_cast<float*>(run + layout.value_at(slot, 0)));
        break;
      case KvType::f16: {
        auto* halves = reinterpret_cast<std::uint16_t*>(run + layout.value_at(slot, 0));
        kernels_.float_to_half(key, width, halves);  // by way of the value's place
        for (int i = 0; i < width; ++i) std::memcpy(run + layout.key_at(slot, i), halves + i, sizeof(std::uint16_t));
        kernels_.float_to_half(value, width, halves);
        break;
      }
      case KvType::int8: kernels_.store_int8(layout, slot, key, value, run); break;
    }
  }
}

void CpuExecutor::store_cross(CrossKv& cross, int layer, Tensor kv) {
  const Profile::Timed timed(profile_, "store cross");
  auto& mine = static_cast<CpuCrossKv&>(cross);
  const std::int64_t width = mine.heads() * mine.layout().width;
  assert(kv.columns == 2 * width && kv.rows == mine.tokens());
  for (std::int64_t t = 0; t < kv.rows; ++t) {
    const float* key = kv.data + t * kv.columns;
    store_position(mine.layout(), mine.heads(), mine.run(static_cast<int>(t / page_positions), layer), t % page_positions, key,
                   key + width);
  }
}

Tensor CpuExecutor::encoder_attention(Tensor qkv, int heads, float scale, std::span<const float> bias) {
  Profile::Timed timed(profile_, "encoder attention");
  timed.add(0, 2 * qkv.rows * qkv.rows * qkv.columns / 3);
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
    for (std::int64_t query = task % blocks * block; query < std::min(tokens, (task % blocks + 1) * block); ++query) {
      Attend attend{};
      attend.q = qkv.data + query * qkv.columns + head * head_width;
      attend.scale = scale;
      attend.width = static_cast<int>(head_width);
      attend.keys = gathered + head * 2 * tokens * head_width;
      attend.values = attend.keys + tokens * head_width;
      attend.positions = tokens;
      attend.scores = scores + task * tokens;
      attend.out = y.data + query * width + head * head_width;
      attend.bias = bias.data() + head * (2 * tokens - 1) + (tokens - 1 - query);
      kernels_.attend(attend);
    }
  });
  return y;
}

Tensor CpuExecutor::attend_rows(const float* q, std::int64_t q_stride, std::int64_t columns, int heads,
                                std::span<const Heard> heard) {
  const auto rows = static_cast<std::int64_t>(heard.size());
  Tensor y = make(rows, columns);
  const int head_width = static_cast<int>(columns / heads);
  const KvLayout widest(KvType::f32, head_width);
  const std::int64_t state_floats = attend_header + 2 * std::int64_t{widest.padded};
  int longest = 0;
  for (const Heard& row : heard) longest = std::max(longest, row.positions);
  const std::int64_t parts = (longest + part_positions - 1) / part_positions;
  // A task reads best when its heads are all there are, one stretch of memory; few tasks are split into groups of heads until
  // there is work for all threads.
  const std::int64_t wanted = (tasks_a_thread * pool_.threads() + rows * parts - 1) / std::max<std::int64_t>(rows * parts, 1);
  const auto heads_a_task = static_cast<int>(std::max<std::int64_t>(least_heads, (heads + wanted - 1) / wanted));
  const std::int64_t groups = (heads + heads_a_task - 1) / heads_a_task;
  const Mark mark = arena_.mark();
  float* states = arena_.floats(rows * parts * heads * state_floats);
  pool_.parallel_for(rows * parts * groups, [&](std::int64_t task) {
    const std::int64_t r = task / (parts * groups), part = task / groups % parts;
    const int head = static_cast<int>(task % groups) * heads_a_task;
    const Heard& row = heard[static_cast<std::size_t>(r)];
    const int begin = static_cast<int>(part) * part_positions;
    if (begin >= row.positions) return;
    const std::byte* runs[part_positions / page_positions];
    const int positions = std::min(part_positions, row.positions - begin);
    for (int p = 0; p < KvPool::pages_for(positions); ++p)
      runs[p] = row.runs[begin / page_positions + p] + head * row.layout->run_bytes;
    AttendPages attend{};
    attend.layout = *row.layout;
    attend.heads = std::min(heads_a_task, heads - head);
    attend.q = q + r * q_stride + static_cast<std::int64_t>(head) * head_width;
    attend.scale = 1.0F / std::sqrt(static_cast<float>(head_width));
    attend.runs = runs;
    attend.positions = positions;
    attend.state_floats = state_floats;
    attend.states = states + ((r * parts + part) * heads + head) * state_floats;
    kernels_.attend_pages(attend);
  });
  for_rows(rows, [&](std::int64_t r) {
    const Heard& row = heard[static_cast<std::size_t>(r)];
    float* out = y.data + r * columns;
    if (row.positions == 0) std::fill(out, out + columns, 0.0F);
    for (int head = 0; head < heads && row.positions > 0; ++head) {
      kernels_.join_parts(states + (r * parts * heads + head) * state_floats,
                          (row.positions + part_positions - 1) / part_positions, heads * state_floats, head_width,
                          out + static_cast<std::int64_t>(head) * head_width);
    }
  });
  arena_.rewind(mark);
  return y;
}

Tensor CpuExecutor::self_attention(Tensor qkv, KvPool& pool, int layer, std::span<const Row> rows) {
  Profile::Timed timed(profile_, "self attention");
  auto& kv = static_cast<CpuKvPool&>(pool);
  const int heads = kv.shape().heads;
  const std::int64_t width = std::int64_t{heads} * kv.shape().head_width;
  assert(qkv.columns == 3 * width && qkv.rows == static_cast<std::int64_t>(rows.size()));
  std::size_t pages = 0;
  for_rows(qkv.rows, [&](std::int64_t r) {
    const Row& row = rows[static_cast<std::size_t>(r)];
    assert(row.position >= 0 && row.position < row.sequence->capacity());
    const int page = row.sequence->pages()[static_cast<std::size_t>(row.position / page_positions)];
    const float* key = qkv.data + r * qkv.columns + width;
    store_position(kv.layout(), heads, kv.run(page, layer), row.position % page_positions, key, key + width);
  });
  for (const Row& row : rows) {
    pages += static_cast<std::size_t>(KvPool::pages_for(row.position + 1));
    timed.add((row.position + 1) * heads * kv.layout().run_bytes / page_positions, 2 * (row.position + 1) * width);
  }
  runs_.clear();
  runs_.reserve(pages);  // so that what is heard can point into it
  heard_.clear();
  for (const Row& row : rows) {
    heard_.push_back({&kv.layout(), runs_.data() + runs_.size(), row.position + 1});
    for (int p = 0; p < KvPool::pages_for(row.position + 1); ++p)
      runs_.push_back(kv.run(row.sequence->pages()[static_cast<std::size_t>(p)], layer));
  }
  return attend_rows(qkv.data, qkv.columns, width, heads, heard_);
}

Tensor CpuExecutor::cross_attention(Tensor q, int layer, std::span<const Row> rows) {
  Profile::Timed timed(profile_, "cross attention");
  runs_.clear();
  heard_.clear();
  std::size_t pages = 0;
  for (const Row& row : rows) {
    if (row.conditioning != nullptr)
      pages += static_cast<std::size_t>(KvPool::pages_for(static_cast<const CpuCrossKv*>(row.conditioning)->tokens()));
  }
  runs_.reserve(pages);
  int heads = 1;
  for (const Row& row : rows) {
    const auto* cross = static_cast<const CpuCrossKv*>(row.conditioning);
    if (cross == nullptr) {
      heard_.push_back({});
      continue;
    }
    heads = cross->heads();
    timed.add(cross->tokens() * heads * cross->layout().run_bytes / page_positions, 2 * cross->tokens() * q.columns);
    heard_.push_back({&cross->layout(), runs_.data() + runs_.size(), cross->tokens()});
    for (int p = 0; p < KvPool::pages_for(cross->tokens()); ++p) runs_.push_back(cross->run(p, layer));
  }
  return attend_rows(q.data, q.columns, q.columns, heads, heard_);
}

}  // namespace continuo::compute::cpu
