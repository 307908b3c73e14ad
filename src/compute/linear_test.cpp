// Products, norms, activations and embeddings on every executor, against plain double arithmetic.
#include <gtest/gtest.h>

#include <cstring>

#include "compute/test_support.h"

namespace continuo::compute::testing {
namespace {

double activation(Activation kind, double x) {
  switch (kind) {
    case Activation::none: return x;
    case Activation::relu: return std::max(x, 0.0);
    case Activation::gelu_erf: return 0.5 * x * (1.0 + std::erf(x / std::sqrt(2.0)));
    case Activation::gelu_tanh: return 0.5 * x * (1.0 + std::tanh(std::sqrt(2.0 / M_PI) * (x + 0.044715 * x * x * x)));
    case Activation::elu: return x > 0.0 ? x : std::expm1(x);
  }
  return x;
}

class OnEveryExecutor : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { executor_ = std::move(*make_cpu_executor({2, GetParam()})); }
  std::unique_ptr<Executor> executor_;
};

TEST_P(OnEveryExecutor, LinearOfOddSizesAndRowCounts) {
  Numbers numbers(1);
  for (const auto& [in, out] : {std::pair{1, 1}, {7, 3}, {36, 16}, {33, 100}, {129, 65}, {300, 257}}) {
    for (const DType type : {DType::f32, DType::f16}) {
      const OwnedTensor weight(numbers.normal(static_cast<std::int64_t>(in) * out, 0.3F), Shape{out, in}, type);
      const OwnedTensor bias(numbers.normal(out), Shape{out});
      const Linear linear = *executor_->load_linear(std::span(&weight.view, 1), &bias.view);
      for (int rows = 1; rows <= 65; rows += rows < 13 ? 1 : 26) {
        const auto x = numbers.normal(static_cast<std::int64_t>(rows) * in);
        const auto residual = numbers.normal(static_cast<std::int64_t>(rows) * out);
        executor_->begin_pass();
        const Tensor input = executor_->write(x, rows);
        const auto plain = read(*executor_, executor_->linear(linear, input, Activation::relu));
        const auto added = read(*executor_, executor_->linear_add(linear, input, executor_->write(residual, rows)));
        std::vector<double> want_plain, want_added;
        for (int r = 0; r < rows; ++r) {
          for (int o = 0; o < out; ++o) {
            double sum = bias.values[static_cast<std::size_t>(o)];
            for (int k = 0; k < in; ++k) {
              sum += static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) *
                     weight.values[static_cast<std::size_t>(o * in + k)];
            }
            want_plain.push_back(std::max(sum, 0.0));
            want_added.push_back(sum + residual[static_cast<std::size_t>(r * out + o)]);
          }
        }
        ASSERT_LT(relative_error(plain, want_plain), 1e-5) << in << "x" << out << " rows " << rows << " " << name_of(type);
        ASSERT_LT(relative_error(added, want_added), 1e-5) << in << "x" << out << " rows " << rows << " " << name_of(type);
      }
    }
  }
}

TEST_P(OnEveryExecutor, RowsDoNotDependOnTheirCompanyOrTheThreads) {
  Numbers numbers(2);
  const int in = 190, out = 333, rows = 37;
  const OwnedTensor weight(numbers.normal(in * out, 0.2F), Shape{out, in}, DType::f16);
  const auto x = numbers.normal(in * rows);
  const Linear linear = *executor_->load_linear(std::span(&weight.view, 1));
  executor_->begin_pass();
  const auto together = read(*executor_, executor_->linear(linear, executor_->write(x, rows), Activation::gelu_erf));
  for (const int threads : {1, 3}) {
    const auto other = std::move(*make_cpu_executor({threads, GetParam()}));
    const Linear same = *other->load_linear(std::span(&weight.view, 1));
    for (int r = 0; r < rows; ++r) {
      other->begin_pass();
      const Tensor row = other->write(std::span(x).subspan(static_cast<std::size_t>(r * in), in), 1);
      const auto alone = read(*other, other->linear(same, row, Activation::gelu_erf));
      ASSERT_EQ(0, std::memcmp(alone.data(), together.data() + r * out, out * sizeof(float))) << "row " << r;
    }
  }
}

TEST_P(OnEveryExecutor, StackedWeightsAreOneMatrix) {
  Numbers numbers(3);
  const OwnedTensor a(numbers.normal(5 * 9), Shape{5, 9}), b(numbers.normal(30 * 9), Shape{30, 9});
  const TensorView both[] = {a.view, b.view};
  const Linear stacked = *executor_->load_linear(both);
  const Linear first = *executor_->load_linear(std::span(&a.view, 1)), second = *executor_->load_linear(std::span(&b.view, 1));
  executor_->begin_pass();
  const Tensor x = executor_->write(numbers.normal(2 * 9), 2);
  const auto got = read(*executor_, executor_->linear(stacked, x));
  const auto top = read(*executor_, executor_->linear(first, x)), bottom = read(*executor_, executor_->linear(second, x));
  EXPECT_EQ(35, stacked.out);
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t o = 0; o < 35; ++o) EXPECT_EQ(got[r * 35 + o], o < 5 ? top[r * 5 + o] : bottom[r * 30 + o - 5]);
  }
}

TEST_P(OnEveryExecutor, ActivationsOverTheirWholeRange) {
  const OwnedTensor one(std::vector<float>{1.0F}, Shape{1, 1});
  const Linear identity = *executor_->load_linear(std::span(&one.view, 1));
  std::vector<float> x;
  for (float value = -30.0F; value <= 30.0F; value += 0.0137F) x.push_back(value);
  for (const float value : {0.0F, -0.0F, 1e-30F, -1e-8F, 1e-4F, -1e-4F}) x.push_back(value);
  for (const Activation kind : {Activation::relu, Activation::gelu_erf, Activation::gelu_tanh, Activation::elu}) {
    executor_->begin_pass();
    const auto y = read(*executor_, executor_->linear(identity, executor_->write(x, static_cast<std::int64_t>(x.size())), kind));
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double want = activation(kind, x[i]);
      ASSERT_NEAR(y[i], want, 4e-7 * std::max(1.0, std::abs(want))) << "activation " << static_cast<int>(kind) << " of " << x[i];
    }
  }
}

TEST_P(OnEveryExecutor, Norms) {
  Numbers numbers(4);
  for (const int width : {1, 5, 16, 36, 131}) {
    const OwnedTensor gain(numbers.normal(width), Shape{width}), bias(numbers.normal(width), Shape{width});
    // A small spread, so that epsilon matters.
    const auto x = numbers.normal(3 * width, 0.02F);
    const double epsilon = 1e-3;
    const Norm layer = *executor_->load_norm(NormKind::layer, gain.view, &bias.view, static_cast<float>(epsilon));
    const Norm rms = *executor_->load_norm(NormKind::rms, gain.view, nullptr, static_cast<float>(epsilon));
    std::vector<double> want_layer, want_rms;
    for (int r = 0; r < 3; ++r) {
      double mean = 0.0, square = 0.0, variance = 0.0;
      for (int i = 0; i < width; ++i) mean += x[static_cast<std::size_t>(r * width + i)] / static_cast<double>(width);
      for (int i = 0; i < width; ++i) {
        const double value = x[static_cast<std::size_t>(r * width + i)];
        square += value * value / width;
        variance += (value - mean) * (value - mean) / width;
      }
      for (int i = 0; i < width; ++i) {
        const auto at = static_cast<std::size_t>(i);
        const double value = x[static_cast<std::size_t>(r * width + i)];
        want_layer.push_back((value - mean) / std::sqrt(variance + epsilon) * gain.values[at] + bias.values[at]);
        want_rms.push_back(value / std::sqrt(square + epsilon) * gain.values[at]);
      }
    }
    executor_->begin_pass();
    const Tensor input = executor_->write(x, 3);
    EXPECT_LT(relative_error(read(*executor_, executor_->norm(layer, input)), want_layer), 1e-5) << width;
    EXPECT_LT(relative_error(read(*executor_, executor_->norm(rms, input)), want_rms), 1e-5) << width;
  }
}

TEST_P(OnEveryExecutor, EmbeddingsAreSummedScaledAndOffset) {
  Numbers numbers(5);
  const OwnedTensor a(numbers.normal(4 * 6), Shape{4, 6}), b(numbers.normal(3 * 6), Shape{3, 6}, DType::f16);
  const Table tables[] = {*executor_->load_table(a.view), *executor_->load_table(b.view)};
  const std::vector<std::int32_t> ids{3, 0, 1, 2};
  const auto addend = numbers.normal(12);
  executor_->begin_pass();
  const auto y = read(*executor_, executor_->embed_sum(tables, ids, 2.0F, addend));
  for (std::size_t r = 0; r < 2; ++r) {
    for (std::size_t i = 0; i < 6; ++i) {
      const float want = 2.0F * (a.values[static_cast<std::size_t>(ids[r * 2]) * 6 + i] +
                                 b.values[static_cast<std::size_t>(ids[r * 2 + 1]) * 6 + i]);
      EXPECT_NEAR(y[r * 6 + i], want + addend[r * 6 + i], 1e-6);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, OnEveryExecutor, ::testing::ValuesIn(runnable_isas()), [](const auto& each) { return each.param; });

TEST(CpuExecutor, UnknownInstructionSetsAreNamed) {
  const auto executor = make_cpu_executor({1, "sse9"});
  ASSERT_FALSE(executor);
  EXPECT_NE(std::string::npos, executor.error().message.find("sse9"));
}

}  // namespace
}  // namespace continuo::compute::testing
