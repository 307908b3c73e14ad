// Convolutions and the LSTM on every executor, against plain double arithmetic.
#include <gtest/gtest.h>

#include "compute/test_support.h"

namespace continuo::compute::testing {
namespace {

class CodecOps : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { executor_ = std::move(*make_cpu_executor({2, GetParam()})); }
  std::unique_ptr<Executor> executor_;
};

double at(const std::vector<double>& x, std::int64_t index) { return x[static_cast<std::size_t>(index)]; }

/// EnCodec's _pad1d, done literally on a list: extend with zeros if reflection needs it, mirror, cut the extension off.
std::vector<std::int64_t> padded_indices(std::int64_t length, const Padding& padding) {
  std::vector<std::int64_t> base;
  for (std::int64_t t = 0; t < length; ++t) base.push_back(t);
  std::int64_t extra = 0;
  if (padding.mode == PadMode::reflect && length <= std::max(padding.left, padding.right)) {
    extra = std::max(padding.left, padding.right) - length + 1;
    base.insert(base.end(), static_cast<std::size_t>(extra), -1);
  }
  const auto size = static_cast<std::int64_t>(base.size());
  std::vector<std::int64_t> out;
  for (std::int64_t t = -padding.left; t < size + padding.right; ++t) {
    if (t >= 0 && t < size) {
      out.push_back(base[static_cast<std::size_t>(t)]);
    } else if (padding.mode == PadMode::reflect) {
      out.push_back(base[static_cast<std::size_t>(t < 0 ? -t : 2 * (size - 1) - t)]);
    } else if (padding.mode == PadMode::replicate) {
      out.push_back(t < 0 ? 0 : length - 1);
    } else {
      out.push_back(-1);
    }
  }
  out.resize(out.size() - static_cast<std::size_t>(extra));
  return out;
}

TEST_P(CodecOps, ConvolutionsOfEveryPadding) {
  Numbers numbers(1);
  for (const PadMode mode : {PadMode::constant, PadMode::reflect, PadMode::replicate}) {
    for (const auto& [length, in, out, kernel, stride, dilation] : {std::tuple{1, 3, 5, 7, 1, 1},
                                                                    {2, 3, 5, 7, 1, 1},
                                                                    {4, 2, 20, 7, 1, 1},
                                                                    {50, 9, 33, 3, 1, 2},
                                                                    {30, 7, 1, 3, 1, 3},
                                                                    {25, 40, 120, 3, 1, 1},
                                                                    {41, 4, 6, 8, 4, 1},
                                                                    {300, 6, 1, 7, 1, 1}}) {
      const Padding padding{(dilation * (kernel - 1) + 1) / 2, dilation * (kernel - 1) / 2, mode};
      const OwnedTensor weight(numbers.normal(static_cast<std::int64_t>(out) * in * kernel, 0.3F), Shape{out, in, kernel},
                               length % 2 == 0 ? DType::f16 : DType::f32);
      const OwnedTensor bias(numbers.normal(out), Shape{out});
      const auto x = numbers.normal(static_cast<std::int64_t>(length) * in);
      const Conv conv = *executor_->load_conv(weight.view, &bias.view, stride, dilation);
      const auto indices = padded_indices(length, padding);
      const std::int64_t frames = (static_cast<std::int64_t>(indices.size()) - dilation * (kernel - 1) - 1) / stride + 1;
      const auto residual = numbers.normal(frames * out);
      std::vector<double> want;
      for (std::int64_t t = 0; t < frames; ++t) {
        for (int o = 0; o < out; ++o) {
          double sum = bias.values[static_cast<std::size_t>(o)];
          for (int tap = 0; tap < kernel; ++tap) {
            const std::int64_t from = indices[static_cast<std::size_t>(t * stride + tap * dilation)];
            for (int c = 0; from >= 0 && c < in; ++c) {
              const double value = x[static_cast<std::size_t>(from * in + c)];
              sum += (value > 0.0 ? value : std::expm1(value)) *
                     weight.values[static_cast<std::size_t>((o * in + c) * kernel + tap)];
            }
          }
          want.push_back(std::max(sum, 0.0) + residual[static_cast<std::size_t>(t * out + o)]);
        }
      }
      executor_->begin_pass();
      const Tensor around = executor_->write(residual, frames);
      const Tensor y = executor_->conv(conv, executor_->write(x, length), padding, {Activation::elu, Activation::relu, &around});
      ASSERT_EQ(frames, y.rows);
      EXPECT_LT(relative_error(read(*executor_, y), want), 1e-5) << "length " << length << " mode " << static_cast<int>(mode);
    }
  }
}

TEST_P(CodecOps, TransposedConvolutions) {
  Numbers numbers(2);
  for (const auto& [length, in, out, kernel, stride] :
       {std::tuple{1, 3, 2, 4, 2}, {7, 5, 3, 10, 5}, {33, 8, 4, 16, 8}, {6, 2, 3, 7, 3}, {5, 2, 2, 3, 3}}) {
    const OwnedTensor weight(numbers.normal(static_cast<std::int64_t>(out) * in * kernel, 0.3F), Shape{in, out, kernel},
                             length % 2 == 0 ? DType::f16 : DType::f32);
    const OwnedTensor bias(numbers.normal(out), Shape{out});
    const auto x = numbers.normal(static_cast<std::int64_t>(length) * in);
    const Conv conv = *executor_->load_conv_transpose(weight.view, &bias.view, stride);
    const std::int64_t full = static_cast<std::int64_t>(length - 1) * stride + kernel;
    std::vector<double> whole(static_cast<std::size_t>(full * out));
    for (std::int64_t t = 0; t < full; ++t) {
      for (int o = 0; o < out; ++o) whole[static_cast<std::size_t>(t * out + o)] = bias.values[static_cast<std::size_t>(o)];
    }
    for (int t = 0; t < length; ++t) {
      for (int c = 0; c < in; ++c) {
        for (int o = 0; o < out; ++o) {
          for (int place = 0; place < kernel; ++place) {
            whole[static_cast<std::size_t>((t * stride + place) * out + o)] +=
                static_cast<double>(x[static_cast<std::size_t>(t * in + c)]) *
                weight.values[static_cast<std::size_t>((c * out + o) * kernel + place)];
          }
        }
      }
    }
    const std::int64_t total = kernel - stride, right = total / 2, left = total - right;
    const std::vector<double> want(whole.begin() + left * out, whole.end() - right * out);
    executor_->begin_pass();
    const int taps = (kernel + stride - 1) / stride;
    std::vector<float> around(x);
    around.insert(around.begin(), static_cast<std::size_t>((taps - 1) * in), 0.0F);
    around.insert(around.end(), static_cast<std::size_t>((taps - 1) * in), 0.0F);
    const Tensor y = executor_->conv_transpose(conv, executor_->write(around, length + 2 * (taps - 1)), left,
                                               right + taps * stride - kernel, {});
    ASSERT_EQ(length * stride, y.rows);
    EXPECT_LT(relative_error(read(*executor_, y), want), 1e-5) << "length " << length << " kernel " << kernel;
  }
}

TEST_P(CodecOps, Lstm) {
  Numbers numbers(3);
  for (const auto& [width, type] :
       {std::pair{1, DType::f32}, {10, DType::f32}, {37, DType::f32}, {37, DType::f16}, {150, DType::f32}, {160, DType::f16}}) {
    const int frames = 9;
    const float spread = 1.2F / std::sqrt(static_cast<float>(width));
    const OwnedTensor w_ih(numbers.normal(4 * width * width, spread), Shape{4 * width, width}, type),
        w_hh(numbers.normal(4 * width * width, spread), Shape{4 * width, width}, type);
    const OwnedTensor b_ih(numbers.normal(4 * width), Shape{4 * width}), b_hh(numbers.normal(4 * width), Shape{4 * width});
    const auto x = numbers.normal(static_cast<std::int64_t>(frames) * width);
    std::vector<double> hidden(static_cast<std::size_t>(width)), cell(static_cast<std::size_t>(width)), want;
    const auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
    for (int t = 0; t < frames; ++t) {
      std::vector<double> gates;
      for (int g = 0; g < 4 * width; ++g) {
        double sum = static_cast<double>(b_ih.values[static_cast<std::size_t>(g)]) + b_hh.values[static_cast<std::size_t>(g)];
        for (int i = 0; i < width; ++i) {
          sum += static_cast<double>(w_ih.values[static_cast<std::size_t>(g * width + i)]) *
                     x[static_cast<std::size_t>(t * width + i)] +
                 w_hh.values[static_cast<std::size_t>(g * width + i)] * hidden[static_cast<std::size_t>(i)];
        }
        gates.push_back(sum);
      }
      for (int i = 0; i < width; ++i) {
        const auto place = static_cast<std::size_t>(i);
        cell[place] = sigmoid(at(gates, width + i)) * cell[place] + sigmoid(at(gates, i)) * std::tanh(at(gates, 2 * width + i));
        hidden[place] = sigmoid(at(gates, 3 * width + i)) * std::tanh(cell[place]);
      }
      want.insert(want.end(), hidden.begin(), hidden.end());
    }
    const Lstm lstm = *executor_->load_lstm(w_ih.view, w_hh.view, b_ih.view, b_hh.view);
    executor_->begin_pass();
    const std::vector<float> whole = read(*executor_, executor_->lstm(lstm, executor_->write(x, frames)));
    EXPECT_LT(relative_error(whole, want), 1e-5) << width;

    // In pieces, with other tensors and passes between them: the same bits.
    const auto state = executor_->make_carry(width, 2, 2);
    std::vector<float> in_pieces;
    for (const auto& [begin, end] : {std::pair{0, 1}, {1, 6}, {6, 8}, {8, 9}}) {
      executor_->begin_pass();
      const auto part =
          std::span(x).subspan(static_cast<std::size_t>(begin * width), static_cast<std::size_t>((end - begin) * width));
      const auto y = read(*executor_, executor_->lstm(lstm, executor_->write(part, end - begin), state.get()));
      in_pieces.insert(in_pieces.end(), y.begin(), y.end());
    }
    EXPECT_EQ(whole, in_pieces) << width;
  }
}

TEST_P(CodecOps, JoinCarriesTheEndOfWhatItGave) {
  const auto carry = executor_->make_carry(2, 3, 1);
  EXPECT_EQ(static_cast<std::int64_t>(2 * 3 * sizeof(float)), carry->bytes());
  executor_->begin_pass();
  const std::vector<float> first{1, -1, 2, -2}, second{3, -3};
  // One row of zeros was there; the padding mirrors around it and is carried as well.
  const Tensor a = executor_->join(*carry, executor_->write(first, 2), {1, 1, PadMode::reflect}, 3, Activation::relu);
  EXPECT_EQ((std::vector<float>{1, 0, 0, 0, 1, 0, 2, 0, 1, 0}), read(*executor_, a));
  EXPECT_EQ(3, carry->rows());
  executor_->begin_pass();
  const Tensor b = executor_->join(*carry, executor_->write(second, 1), {}, 1);
  EXPECT_EQ((std::vector<float>{0, 0, 1, 0, 2, 0, 3, -3}), read(*executor_, b));
  EXPECT_EQ((std::vector<float>{1, 0, 2, 0}), read(*executor_, executor_->slice(b, 1, 2)));
  executor_->begin_pass();
  const Tensor c = executor_->join(*carry, {nullptr, 0, 2}, {0, 2, PadMode::replicate}, 0);
  EXPECT_EQ((std::vector<float>{3, -3, 3, -3, 3, -3}), read(*executor_, c));
  EXPECT_EQ(0, carry->rows());
}

TEST_P(CodecOps, RewindKeepsWhatWasMadeBeforeTheMark) {
  Numbers numbers(4);
  const auto kept = numbers.normal(1000);
  for (int pass = 0; pass < 2; ++pass) {
    executor_->begin_pass();
    const Tensor before = executor_->write(kept, 10);
    const Mark mark = executor_->mark();
    for (int piece = 0; piece < 4; ++piece) {
      const auto values = numbers.normal(100'000 * (1 + piece));  // beyond the first block of memory
      EXPECT_EQ(values, read(*executor_, executor_->write(values, 100)));
      executor_->rewind(mark);
    }
    EXPECT_EQ(kept, read(*executor_, before));
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, CodecOps, ::testing::ValuesIn(runnable_isas()), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace continuo::compute::testing
