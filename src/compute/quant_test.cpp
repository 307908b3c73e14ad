// Quantised products on every executor. Activations that are whole multiples of a block's step survive quantisation exactly, so
// that the integer part can be checked without any tolerance; then random ones within the error of 8 bits.
#include <gtest/gtest.h>

#include <cstring>

#include "compute/test_support.h"

namespace continuo::compute::testing {
namespace {

/// Random blocks of a type: any bytes are valid weights, as long as the scales are ordinary numbers.
std::vector<std::byte> random_blocks(Numbers& numbers, DType type, std::int64_t count) {
  const BlockSize size = block_size(type);
  std::vector<std::byte> bytes;
  const auto noise = numbers.normal(count * size.bytes, 1e4F);
  for (std::int64_t i = 0; i < count * size.bytes; ++i)
    bytes.push_back(static_cast<std::byte>(static_cast<int>(noise[static_cast<std::size_t>(i)])));
  const auto scales = numbers.normal(2 * count, 0.01F);
  for (std::int64_t b = 0; b < count; ++b) {
    for (int s = 0; s < (type == DType::q4_k ? 2 : 1); ++s) {
      const std::uint16_t half = float_to_half(std::abs(scales[static_cast<std::size_t>(2 * b + s)]) + 1e-3F);
      std::memcpy(bytes.data() + b * size.bytes + s * 2, &half, 2);
    }
    // -128 does not occur in q8_0: its quantiser scales the largest weight to 127.
    for (int i = 2; type == DType::q8_0 && i < 34; ++i) {
      auto& byte = bytes[static_cast<std::size_t>(b * size.bytes + i)];
      if (byte == std::byte{0x80}) byte = std::byte{0x81};
    }
  }
  return bytes;
}

class Quantised : public ::testing::TestWithParam<std::tuple<std::string, DType>> {
 protected:
  void SetUp() override { executor_ = std::move(*make_cpu_executor({2, std::get<0>(GetParam())})); }
  DType type() const { return std::get<1>(GetParam()); }

  static std::vector<double> product(const std::vector<float>& x, const std::vector<float>& w, int rows, int in, int out) {
    std::vector<double> y;
    for (int r = 0; r < rows; ++r) {
      for (int o = 0; o < out; ++o) {
        double sum = 0.0;
        for (int k = 0; k < in; ++k)
          sum += static_cast<double>(x[static_cast<std::size_t>(r * in + k)]) * w[static_cast<std::size_t>(o * in + k)];
        y.push_back(sum);
      }
    }
    return y;
  }
  std::unique_ptr<Executor> executor_;
};

TEST_P(Quantised, IntegerPartsAreExact) {
  Numbers numbers(1);
  for (const auto& [in, out] : {std::pair{256, 1}, {256, 16}, {512, 37}, {768, 100}}) {
    const std::int64_t per_block = block_size(type()).elements;
    const auto bytes = random_blocks(numbers, type(), static_cast<std::int64_t>(in) * out / per_block);
    const TensorView view{type(), Shape{out, in}, bytes};
    std::vector<float> w(static_cast<std::size_t>(in * out));
    view.to_float(w);
    const Linear linear = *executor_->load_linear(std::span(&view, 1));
    for (int rows = 1; rows <= 65; rows += rows < 10 ? 1 : 28) {
      std::vector<float> x;
      // The largest of each block makes its step 1, in 8 bits or, where avx2 meets 8-bit weights, 16.
      const float limit = std::get<0>(GetParam()) == "avx2" && type() == DType::q8_0 ? 32767.0F : 127.0F;
      for (const float value : numbers.normal(static_cast<std::int64_t>(rows) * in, limit / 3)) {
        x.push_back(x.size() % 32 == 5 ? limit : std::round(std::clamp(value, -limit, limit)));
      }
      executor_->begin_pass();
      const auto got = read(*executor_, executor_->linear(linear, executor_->write(x, rows)));
      ASSERT_LT(relative_error(got, product(x, w, rows, in, out)), 2e-6) << in << "x" << out << " rows " << rows;
    }
  }
}

TEST_P(Quantised, RandomActivationsWithinEightBits) {
  Numbers numbers(2);
  const int in = 1024, out = 130, rows = 3;
  const auto bytes = random_blocks(numbers, type(), static_cast<std::int64_t>(in) * out / block_size(type()).elements);
  const TensorView view{type(), Shape{out, in}, bytes};
  std::vector<float> w(static_cast<std::size_t>(in * out));
  view.to_float(w);
  const auto x = numbers.normal(rows * in);
  const Linear linear = *executor_->load_linear(std::span(&view, 1));
  executor_->begin_pass();
  const auto got = read(*executor_, executor_->linear(linear, executor_->write(x, rows)));
  const auto want = product(x, w, rows, in, out);
  double square = 0.0, error = 0.0;
  for (std::size_t i = 0; i < want.size(); ++i) {
    square += want[i] * want[i];
    error += (got[i] - want[i]) * (got[i] - want[i]);
  }
  EXPECT_LT(std::sqrt(error / square), 1e-2);
}

TEST_P(Quantised, RowsDoNotDependOnTheirCompanyOrTheThreads) {
  Numbers numbers(3);
  const int in = 512, out = 333, rows = 19;
  const auto bytes = random_blocks(numbers, type(), static_cast<std::int64_t>(in) * out / block_size(type()).elements);
  const TensorView view{type(), Shape{out, in}, bytes};
  const auto x = numbers.normal(in * rows);
  const Linear linear = *executor_->load_linear(std::span(&view, 1));
  executor_->begin_pass();
  const auto together = read(*executor_, executor_->linear(linear, executor_->write(x, rows), Activation::gelu_erf));
  const auto other = std::move(*make_cpu_executor({3, std::get<0>(GetParam())}));
  const Linear same = *other->load_linear(std::span(&view, 1));
  for (int r = 0; r < rows; ++r) {
    other->begin_pass();
    const Tensor row = other->write(std::span(x).subspan(static_cast<std::size_t>(r * in), in), 1);
    const auto alone = read(*other, other->linear(same, row, Activation::gelu_erf));
    ASSERT_EQ(0, std::memcmp(alone.data(), together.data() + r * out, out * sizeof(float))) << r;
  }
}

TEST_P(Quantised, StacksOfSeveralTypesAndTables) {
  Numbers numbers(4);
  const auto bytes = random_blocks(numbers, type(), 2 * 256 / block_size(type()).elements);
  const TensorView blocks{type(), Shape{2, 256}, bytes};
  const OwnedTensor floats(numbers.normal(3 * 256), Shape{3, 256});
  std::vector<float> w(512);
  blocks.to_float(w);
  w.insert(w.end(), floats.values.begin(), floats.values.end());
  const TensorView both[] = {blocks, floats.view};
  const Linear linear = *executor_->load_linear(both);
  const Table table = *executor_->load_table(blocks);
  const auto x = numbers.normal(256);
  executor_->begin_pass();
  EXPECT_LT(relative_error(read(*executor_, executor_->linear(linear, executor_->write(x, 1))), product(x, w, 1, 256, 5)), 1e-5);
  const std::int32_t id = 1;
  const auto row = read(*executor_, executor_->embed_sum(std::span(&table, 1), std::span(&id, 1), 1.0F, {}));
  EXPECT_EQ(row, std::vector<float>(w.begin() + 256, w.begin() + 512));
}

INSTANTIATE_TEST_SUITE_P(Types, Quantised,
                         ::testing::Combine(::testing::ValuesIn(runnable_isas()),
                                            ::testing::Values(DType::q8_0, DType::q4_0, DType::q4_k)),
                         [](const auto& each) {
                           return std::get<0>(each.param) + "_" + std::string(name_of(std::get<1>(each.param)));
                         });

}  // namespace
}  // namespace continuo::compute::testing
