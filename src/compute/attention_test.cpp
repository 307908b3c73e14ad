// The three attentions on every executor, against plain double arithmetic; pages, null rows, company.
#include <gtest/gtest.h>

#include <cstring>

#include "compute/test_support.h"

namespace continuo::compute::testing {
namespace {

/// softmax(q k^T * scale + bias) v for one head; keys and values are rows of `width`.
std::vector<double> attend(const std::vector<double>& q, const std::vector<std::vector<double>>& keys,
                           const std::vector<std::vector<double>>& values, double scale, const std::vector<double>& bias = {}) {
  std::vector<double> scores;
  double top = -INFINITY, sum = 0.0;
  for (std::size_t p = 0; p < keys.size(); ++p) {
    double score = 0.0;
    for (std::size_t i = 0; i < q.size(); ++i) score += q[i] * keys[p][i];
    score = score * scale + (bias.empty() ? 0.0 : bias[p]);
    scores.push_back(score);
    top = std::max(top, score);
  }
  for (double& score : scores) sum += score = std::exp(score - top);
  std::vector<double> out(q.size(), 0.0);
  for (std::size_t p = 0; p < keys.size(); ++p) {
    for (std::size_t i = 0; i < q.size(); ++i) out[i] += scores[p] / sum * values[p][i];
  }
  return out;
}

std::vector<double> slice(const std::vector<float>& values, std::int64_t begin, std::int64_t count) {
  return {values.begin() + begin, values.begin() + begin + count};
}

class Attention : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { executor_ = std::move(*make_cpu_executor({2, GetParam()})); }
  std::unique_ptr<Executor> executor_;
};

TEST_P(Attention, EncoderWithBias) {
  Numbers numbers(1);
  for (const auto& [tokens, heads, head_width] : {std::tuple{1, 1, 3}, {5, 3, 7}, {70, 2, 20}}) {
    const int width = heads * head_width;
    const auto qkv = numbers.normal(static_cast<std::int64_t>(tokens) * 3 * width);
    const auto bias = numbers.normal(static_cast<std::int64_t>(heads) * (2 * tokens - 1));
    executor_->begin_pass();
    const auto got = read(*executor_, executor_->encoder_attention(executor_->write(qkv, tokens), heads, 0.5F, bias));
    std::vector<double> want(got.size());
    for (int h = 0; h < heads; ++h) {
      std::vector<std::vector<double>> keys, values;
      for (int t = 0; t < tokens; ++t) {
        keys.push_back(slice(qkv, t * 3 * width + width + h * head_width, head_width));
        values.push_back(slice(qkv, t * 3 * width + 2 * width + h * head_width, head_width));
      }
      for (int t = 0; t < tokens; ++t) {
        std::vector<double> by_key;
        for (int key = 0; key < tokens; ++key)
          by_key.push_back(bias[static_cast<std::size_t>(h * (2 * tokens - 1) + key - t + tokens - 1)]);
        const auto out = attend(slice(qkv, t * 3 * width + h * head_width, head_width), keys, values, 0.5, by_key);
        std::copy(out.begin(), out.end(), want.begin() + t * width + h * head_width);
      }
    }
    EXPECT_LT(relative_error(got, want), 1e-5) << tokens;
  }
}

TEST_P(Attention, SelfOverPagesStepByStepAndAsPrefill) {
  Numbers numbers(2);
  const int heads = 3, head_width = 12, width = heads * head_width, layers = 2, length = 2 * page_positions + 5;
  const auto qkv = numbers.normal(static_cast<std::int64_t>(length) * 3 * width);
  std::vector<double> want;
  for (int t = 0; t < length; ++t) {
    for (int h = 0; h < heads; ++h) {
      std::vector<std::vector<double>> keys, values;
      for (int p = 0; p <= t; ++p) {
        keys.push_back(slice(qkv, p * 3 * width + width + h * head_width, head_width));
        values.push_back(slice(qkv, p * 3 * width + 2 * width + h * head_width, head_width));
      }
      const auto out = attend(slice(qkv, t * 3 * width + h * head_width, head_width), keys, values, 1.0 / std::sqrt(head_width));
      want.insert(want.end(), out.begin(), out.end());
    }
  }
  for (const KvType type : {KvType::f32, KvType::f16, KvType::int8}) {
    const auto pool = std::move(*executor_->make_kv_pool({layers, heads, head_width}, type, 8));
    auto stepping = std::move(*pool->reserve(length));
    auto prefilled = std::move(*pool->reserve(length));
    std::vector<float> by_step;
    for (int t = 0; t < length; ++t) {
      executor_->begin_pass();
      const Row row{&stepping, t, nullptr};
      const auto part = std::span(qkv).subspan(static_cast<std::size_t>(t * 3 * width), static_cast<std::size_t>(3 * width));
      const auto out = read(*executor_, executor_->self_attention(executor_->write(part, 1), *pool, 1, std::span(&row, 1)));
      by_step.insert(by_step.end(), out.begin(), out.end());
    }
    std::vector<Row> rows;
    for (int t = 0; t < length; ++t) rows.push_back({&prefilled, t, nullptr});
    executor_->begin_pass();
    const auto at_once = read(*executor_, executor_->self_attention(executor_->write(qkv, length), *pool, 1, rows));
    EXPECT_LT(relative_error(by_step, want), type == KvType::f32 ? 1e-5 : type == KvType::f16 ? 5e-3 : 5e-2);
    EXPECT_EQ(0, std::memcmp(at_once.data(), by_step.data(), by_step.size() * sizeof(float)));
  }
}

TEST_P(Attention, CrossAndTheNullRow) {
  Numbers numbers(3);
  const int heads = 2, head_width = 10, width = heads * head_width;
  const auto short_kv = numbers.normal(3 * 2 * width), long_kv = numbers.normal(40 * 2 * width), q = numbers.normal(3 * width);
  auto few = executor_->make_cross_kv({2, heads, head_width}, KvType::f32, 3),
       many = executor_->make_cross_kv({2, heads, head_width}, KvType::f32, 40);
  executor_->begin_pass();
  executor_->store_cross(*few, 1, executor_->write(short_kv, 3));
  executor_->store_cross(*many, 1, executor_->write(long_kv, 40));
  const Row rows[] = {{nullptr, 0, few.get()}, {nullptr, 0, nullptr}, {nullptr, 0, many.get()}};
  const auto got = read(*executor_, executor_->cross_attention(executor_->write(q, 3), 1, rows));
  std::vector<double> want(got.size(), 0.0);
  for (const int r : {0, 2}) {
    const auto& kv = r == 0 ? short_kv : long_kv;
    for (int h = 0; h < heads; ++h) {
      std::vector<std::vector<double>> keys, values;
      for (int t = 0; t < (r == 0 ? 3 : 40); ++t) {
        keys.push_back(slice(kv, t * 2 * width + h * head_width, head_width));
        values.push_back(slice(kv, t * 2 * width + width + h * head_width, head_width));
      }
      const auto out = attend(slice(q, r * width + h * head_width, head_width), keys, values, 1.0 / std::sqrt(head_width));
      std::copy(out.begin(), out.end(), want.begin() + r * width + h * head_width);
    }
  }
  EXPECT_LT(relative_error(got, want), 1e-5);
  for (int i = 0; i < width; ++i) EXPECT_EQ(0.0F, got[static_cast<std::size_t>(width + i)]);

  const Row only_null{nullptr, 0, nullptr};
  const auto nothing =
      read(*executor_, executor_->cross_attention(executor_->write(std::span(q).first(static_cast<std::size_t>(width)), 1), 0,
                                                  std::span(&only_null, 1)));
  for (const float value : nothing) EXPECT_EQ(0.0F, value);
}

// Quantised to 16 bits, a query and a page's weights meet 8-bit keys and values in exact integers, however an instruction set
// takes them apart. What is left is the rounding of floats, and now and then a weight that it tips to the next of its 32767
// steps: with values up to nine times the usual, that is an error of 3e-4. A byte that goes astray makes one of 1e-2.
TEST_P(Attention, Int8GivesWhatThePortableKernelsGive) {
  Numbers numbers(4);
  const auto portable = std::move(*make_cpu_executor({1, "portable"}));
  for (const int head_width : {12, 16, 64, 90}) {
    const int heads = 2, width = heads * head_width, length = 2 * page_positions + 5;
    auto qkv = numbers.normal(static_cast<std::int64_t>(length) * 3 * width);
    // One position outweighs all others, with the largest of all numbers; another hears all alike.
    for (int i = 0; i < width; ++i) {
      const auto at = [&](int position, int part) -> float& {
        return qkv[static_cast<std::size_t>((position * 3 + part) * width + i)];
      };
      at(5, 0) = at(5, 1) = 4.0F;
      at(5, 2) = i % 2 == 0 ? 9.0F : -9.0F;
      at(40, 0) = 0.0F;
    }
    std::vector<float> results[2];
    for (Executor* executor : {portable.get(), executor_.get()}) {
      const auto pool = std::move(*executor->make_kv_pool({1, heads, head_width}, KvType::int8, 3));
      auto sequence = std::move(*pool->reserve(length));
      std::vector<Row> rows;
      for (int t = 0; t < length; ++t) rows.push_back({&sequence, t, nullptr});
      executor->begin_pass();
      results[executor == executor_.get()] =
          read(*executor, executor->self_attention(executor->write(qkv, length), *pool, 0, rows));
    }
    EXPECT_LT(relative_error(results[1], {results[0].begin(), results[0].end()}), 5e-4) << head_width;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, Attention, ::testing::ValuesIn(runnable_isas()), [](const auto& each) { return each.param; });

TEST(KvPool, ReservesWholeRequestsAndGetsEverythingBack) {
  const auto executor = std::move(*make_cpu_executor({1, "portable"}));
  const auto pool = std::move(*executor->make_kv_pool({1, 1, 4}, KvType::f32, 5));
  {
    auto a = pool->reserve(page_positions + 1);
    ASSERT_TRUE(a);
    EXPECT_EQ(2 * page_positions, a->capacity());
    EXPECT_EQ(3, pool->free_pages());
    EXPECT_FALSE(pool->reserve(4 * page_positions));
    auto b = pool->reserve(3 * page_positions);
    ASSERT_TRUE(b);
    for (const int page : b->pages()) EXPECT_EQ(a->pages().end(), std::find(a->pages().begin(), a->pages().end(), page));
    *b = KvSequence();
    EXPECT_EQ(3, pool->free_pages());
  }
  EXPECT_EQ(5, pool->free_pages());
}

}  // namespace
}  // namespace continuo::compute::testing
