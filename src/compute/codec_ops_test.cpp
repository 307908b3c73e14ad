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
                                                                    {41, 4, 6, 8, 4, 1},
                                                                    {300, 6, 1, 7, 1, 1}}) {
      const Padding padding{(dilation * (kernel - 1) + 1) / 2, dilation * (kernel - 1) / 2, mode};
      const OwnedTensor weight(numbers.normal(static_cast<std::int64_t>(out) * in * kernel, 0.3F), Shape{out, in, kernel});
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
    const OwnedTensor weight(numbers.normal(static_cast<std::int64_t>(out) * in * kernel, 0.3F), Shape{in, out, kernel});
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
    const Tensor y = executor_->conv_transpose(conv, executor_->write(x, length), left, right, {});
    ASSERT_EQ(length * stride, y.rows);
    EXPECT_LT(relative_error(read(*executor_, y), want), 1e-5) << "length " << length << " kernel " << kernel;
  }
}

TEST_P(CodecOps, Lstm) {
  Numbers numbers(3);
  for (const int width : {1, 10, 37}) {
    const int frames = 9;
    const OwnedTensor w_ih(numbers.normal(4 * width * width, 0.4F), Shape{4 * width, width}),
        w_hh(numbers.normal(4 * width * width, 0.4F), Shape{4 * width, width});
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
    EXPECT_LT(relative_error(read(*executor_, executor_->lstm(lstm, executor_->write(x, frames))), want), 1e-5) << width;
  }
}

INSTANTIATE_TEST_SUITE_P(Isa, CodecOps, ::testing::ValuesIn(runnable_isas()), [](const auto& each) { return each.param; });

}  // namespace
}  // namespace continuo::compute::testing
