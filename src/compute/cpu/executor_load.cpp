// Loading: from tensors as they lie in a file to what the kernels read.
#include <cassert>

#include "compute/cpu/cpu_executor.h"
#include "compute/cpu/isa.h"

namespace continuo::compute::cpu {

CpuExecutor::CpuExecutor(const Kernels& kernels, int threads) : kernels_(kernels), pool_(threads) {}

Result<Linear> CpuExecutor::load_linear(std::span<const TensorView> weights, const TensorView* bias) {
  PackedMatrix matrix = pack(weights, kernels_);
  if (bias != nullptr) {
    set_bias(matrix, float_values(*bias));
  }
  const Linear linear{static_cast<int>(matrices_.size()), static_cast<int>(matrix.in), static_cast<int>(matrix.out)};
  matrices_.push_back(kept(std::move(matrix)));
  return linear;
}

Result<Norm> CpuExecutor::load_norm(NormKind kind, const TensorView& gain, const TensorView* bias, float epsilon) {
  NormWeights weights{kind, epsilon, {}, {}};
  weights.gain = float_values(gain);
  weights.bias = bias != nullptr ? float_values(*bias) : std::vector<float>(weights.gain.size(), 0.0F);
  norms_.push_back(std::move(weights));
  return Norm{static_cast<int>(norms_.size()) - 1, static_cast<int>(gain.shape.elements())};
}

Result<Table> CpuExecutor::load_table(const TensorView& table) {
  tables_.push_back(table);
  return Table{static_cast<int>(tables_.size()) - 1, static_cast<int>(table.shape[0]), static_cast<int>(table.shape[1])};
}

Result<Conv> CpuExecutor::load_conv(const TensorView& weight, const TensorView* bias, int stride, int dilation) {
  const std::int64_t out = weight.shape[0], in = weight.shape[1], kernel = weight.shape[2];
  const std::vector<float> values = float_values(weight);
  // Time-major input makes a window of `kernel` frames one run of memory: the convolution is a product with [out, kernel * in].
  PackedMatrix matrix =
      pack_rows(out, kernel * in, kernels_.half_panels && is_half(weight), [&](std::int64_t o, std::span<float> row) {
        for (std::int64_t tap = 0; tap < kernel; ++tap) {
          for (std::int64_t c = 0; c < in; ++c) {
            row[static_cast<std::size_t>(tap * in + c)] = values[static_cast<std::size_t>((o * in + c) * kernel + tap)];
          }
        }
      });
  if (bias != nullptr) {
    set_bias(matrix, float_values(*bias));
  }
  std::vector<float> single;
  if (out == 1) {
    for (std::int64_t tap = 0; tap < kernel; ++tap) {
      for (std::int64_t c = 0; c < in; ++c) single.push_back(values[static_cast<std::size_t>(c * kernel + tap)]);
    }
  }
  convs_.push_back({kept(std::move(matrix)), std::move(single)});
  return Conv{static_cast<int>(convs_.size()) - 1,
              static_cast<int>(in),
              static_cast<int>(out),
              static_cast<int>(kernel),
              stride,
              dilation};
}

Result<Conv> CpuExecutor::load_conv_transpose(const TensorView& weight, const TensorView* bias, int stride) {
  const std::int64_t in = weight.shape[0], out = weight.shape[1], kernel = weight.shape[2];
  const std::vector<float> values = float_values(weight);
  // Output block b (stride frames) hears input frames b - taps + 1 to b: again a product over a window of memory, with
  // stride * out results. Frame r of the block meets input frame b - m through kernel place r + m * stride.
  const std::int64_t taps = (kernel + stride - 1) / stride;
  PackedMatrix matrix =
      pack_rows(stride * out, taps * in, kernels_.half_panels && is_half(weight), [&](std::int64_t o, std::span<float> row) {
        const std::int64_t r = o / out, channel = o % out;
        for (std::int64_t m = 0; m < taps; ++m) {
          const std::int64_t place = r + m * stride;
          for (std::int64_t c = 0; c < in; ++c) {
            row[static_cast<std::size_t>((taps - 1 - m) * in + c)] =
                place < kernel ? values[static_cast<std::size_t>((c * out + channel) * kernel + place)] : 0.0F;
          }
        }
      });
  if (bias != nullptr) {
    const std::vector<float> b = float_values(*bias);
    std::vector<float> repeated;
    for (int r = 0; r < stride; ++r) repeated.insert(repeated.end(), b.begin(), b.end());
    set_bias(matrix, repeated);
  }
  convs_.push_back({kept(std::move(matrix)), {}});
  return Conv{
      static_cast<int>(convs_.size()) - 1, static_cast<int>(in), static_cast<int>(out), static_cast<int>(kernel), stride, 1};
}

Result<Lstm> CpuExecutor::load_lstm(const TensorView& w_ih, const TensorView& w_hh, const TensorView& b_ih,
                                    const TensorView& b_hh) {
  LstmWeights weights;
  weights.input.matrix = pack_rows(w_ih.shape[0], w_ih.shape[1], kernels_.half_panels && is_half(w_ih),
                                   [&](std::int64_t o, std::span<float> row) { w_ih.row(o).to_float(row); });
  weights.half = kernels_.half_panels && is_half(w_hh);
  weights.blocks = pack_lstm(w_hh, weights.half);
  std::vector<float> bias = float_values(b_ih);
  const std::vector<float> second = float_values(b_hh);
  assert(bias.size() == second.size());
  for (std::size_t i = 0; i < bias.size(); ++i) bias[i] += second[i];
  set_bias(weights.input.matrix, bias);
  weights.input.matrix = kept(std::move(weights.input.matrix));
  weights.blocks = slabs_.keep(weights.blocks);
  lstms_.push_back(std::move(weights));
  return Lstm{static_cast<int>(lstms_.size()) - 1, static_cast<int>(w_ih.shape[1])};
}

std::int64_t CpuExecutor::weight_bytes(Linear linear) const { return matrices_[static_cast<std::size_t>(linear.id)].bytes(); }

}  // namespace continuo::compute::cpu

namespace continuo::compute {

Result<std::unique_ptr<Executor>> make_cpu_executor(const CpuOptions& options) {
  CONTINUO_TRY(const cpu::Kernels* kernels, cpu::choose_kernels(options.isa));
  const int threads = options.threads > 0 ? options.threads : physical_cores();
  return std::make_unique<cpu::CpuExecutor>(*kernels, threads);
}

}  // namespace continuo::compute
