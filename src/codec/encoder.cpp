#include "codec/encoder.h"

#include <algorithm>
#include <cmath>

#include "codec/stream_layers.h"

namespace continuo::codec {

using compute::Tensor;

namespace {
constexpr int usual_window = 64;
}

Result<std::unique_ptr<CodecEncoder>> CodecEncoder::load(const weights::TensorSource& source, compute::Executor& executor) {
  std::unique_ptr<CodecEncoder> encoder(new CodecEncoder(source.config().codec, executor));
  const weights::CodecConfig& config = encoder->config_;
  const Layers layers(source, executor);
  CONTINUO_TRY(encoder->in_, layers.load_conv("codec.encoder.in"));
  for (std::size_t i = 0; i < config.ratios.size(); ++i) {
    const std::string name = fmt::format("codec.encoder.down.{}.", i);
    Stage stage;
    CONTINUO_TRY(stage.residuals, layers.load_residuals(name));
    CONTINUO_TRY(stage.down, layers.load_conv(name + "conv", config.ratios[config.ratios.size() - 1 - i]));
    encoder->stages_.push_back(stage);
  }
  CONTINUO_TRY(encoder->lstm_, layers.load_lstm("codec.encoder.lstm"));
  CONTINUO_TRY(encoder->out_, layers.load_conv("codec.encoder.out"));
  for (int k = 0; k < config.codebooks; ++k) {
    const TensorView view = source.tensor(fmt::format("codec.quantizer.{}.codebook", k));
    std::vector<float> values(static_cast<std::size_t>(view.shape.elements()));
    view.to_float(values);
    const auto size = static_cast<std::size_t>(view.shape[0]), width = static_cast<std::size_t>(view.shape[1]);
    std::vector<float> turned(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) turned[i % width * size + i / width] = values[i];
    encoder->codebooks_.push_back(std::move(turned));
  }
  encoder->context_frames_ = encoder->count_context();
  return encoder;
}

int CodecEncoder::count_context() const {
  int reach = in_.kernel - 1, scale = 1;  // in samples; scale: samples an input of the present layer stands for
  for (const Stage& stage : stages_) {
    for (const ResidualUnit& unit : stage.residuals) reach += reach_of(unit) * scale;
    reach += stage.down.kernel * scale;
    scale *= stage.down.stride;
  }
  return (reach + scale - 1) / scale + 1;
}

Tensor CodecEncoder::downsample(Tensor x) {
  compute::Executor& ex = executor_;
  x = ex.conv(in_, x, padding_for(in_, config_, x.rows), {});
  for (const Stage& stage : stages_) {
    for (const ResidualUnit& unit : stage.residuals) x = residual_unit(ex, config_, unit, x);
    x = ex.conv(stage.down, x, padding_for(stage.down, config_, x.rows), {Activation::elu, Activation::none, nullptr});
  }
  return x;
}

std::vector<std::int64_t> CodecEncoder::quantise(std::span<float> latent, std::size_t frames) const {
  const auto width = static_cast<std::size_t>(config_.width), size = static_cast<std::size_t>(config_.codebook_size);
  std::vector<std::int64_t> codes(codebooks_.size() * frames);
  std::vector<double> distances(size);
  for (std::size_t t = 0; t < frames; ++t) {
    float* residual = latent.data() + t * width;
    for (std::size_t k = 0; k < codebooks_.size(); ++k) {
      // All entries side by side: each distance is a sum in order, and the loop over them is vectorised.
      std::fill(distances.begin(), distances.end(), 0.0);
      for (std::size_t i = 0; i < width; ++i) {
        const float* entries = codebooks_[k].data() + i * size;
        const double value = residual[i];
        for (std::size_t entry = 0; entry < size; ++entry) {
          const double difference = value - entries[entry];
          distances[entry] += difference * difference;
        }
      }
      const auto nearest = static_cast<std::size_t>(std::min_element(distances.begin(), distances.end()) - distances.begin());
      codes[k * frames + t] = static_cast<std::int64_t>(nearest);
      for (std::size_t i = 0; i < width; ++i) residual[i] -= codebooks_[k][i * size + nearest];
    }
  }
  return codes;
}

Result<std::vector<std::int64_t>> CodecEncoder::encode(std::span<const float> samples, int window_frames,
                                                       const std::function<bool(double)>& progress) {
  compute::Executor& ex = executor_;
  const auto hop = static_cast<std::size_t>(config_.hop());
  const auto frames = static_cast<int>((samples.size() + hop - 1) / hop);
  if (frames == 0) return std::vector<std::int64_t>{};
  const int window = window_frames > 0 ? window_frames : usual_window;
  const auto channels = static_cast<std::size_t>(stages_.empty() ? in_.out : stages_.back().down.out);
  // What hears from the beginning on goes on as a stream, so memory does not grow with the recording.
  LstmStream lstm(ex, lstm_);
  ConvStream out_stream(ex, config_, out_);
  std::vector<float> latent, part;
  for (int begin = 0; begin < frames; begin += window) {
    if (progress && !progress(static_cast<double>(begin) / frames)) return fail(ErrorCode::cancelled, "cancelled");
    const int end = std::min(frames, begin + window);
    const int from = std::max(0, begin - context_frames_), to = std::min(frames, end + context_frames_);
    const std::size_t first = static_cast<std::size_t>(from) * hop,
                      last = std::min(samples.size(), static_cast<std::size_t>(to) * hop);
    ex.begin_pass();
    const Tensor out = downsample(ex.write(samples.subspan(first, last - first), static_cast<std::int64_t>(last - first)));
    part.resize(static_cast<std::size_t>(out.rows * out.columns));
    ex.read(out, part);
    const auto own = std::span(part).subspan(static_cast<std::size_t>(begin - from) * channels,
                                             static_cast<std::size_t>(end - begin) * channels);
    ex.begin_pass();
    const Tensor x =
        out_stream.push(lstm.push(ex.write(own, end - begin)), end == frames, {Activation::elu, Activation::none, nullptr});
    const std::size_t have = latent.size();
    latent.resize(have + static_cast<std::size_t>(x.rows * x.columns));
    if (x.rows > 0) ex.read(x, std::span(latent).subspan(have));
  }
  return quantise(latent, static_cast<std::size_t>(frames));
}

}  // namespace continuo::codec
