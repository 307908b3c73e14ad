#include "codec/decoder.h"

#include <algorithm>
#include <cmath>

namespace continuo::codec {

using compute::Tensor;

namespace {
constexpr int usual_window = 64;  // 1.3 s: large enough that the context costs little, small enough for the caches
}

Result<std::unique_ptr<CodecDecoder>> CodecDecoder::load(const weights::TensorSource& source, compute::Executor& executor) {
  std::unique_ptr<CodecDecoder> decoder(new CodecDecoder(source.config().codec, executor));
  const weights::CodecConfig& config = decoder->config_;
  const Layers layers(source, executor);
  for (int k = 0; k < config.codebooks; ++k) {
    CONTINUO_TRY(const compute::Table table, executor.load_table(source.tensor(fmt::format("codec.quantizer.{}.codebook", k))));
    decoder->codebooks_.push_back(table);
  }
  CONTINUO_TRY(decoder->in_, layers.load_conv("codec.decoder.in"));
  CONTINUO_TRY(decoder->lstm_, layers.load_lstm("codec.decoder.lstm"));
  for (std::size_t i = 0; i < config.ratios.size(); ++i) {
    const std::string name = fmt::format("codec.decoder.up.{}.", i);
    Stage stage;
    CONTINUO_TRY(stage.up, layers.load_conv_transpose(name + "conv", config.ratios[i]));
    CONTINUO_TRY(stage.residuals, layers.load_residuals(name));
    decoder->stages_.push_back(stage);
  }
  CONTINUO_TRY(decoder->out_, layers.load_conv("codec.decoder.out"));
  decoder->context_frames_ = decoder->count_context();
  return decoder;
}

int CodecDecoder::count_context() const {
  // Walks from the samples back to the frames, counting the inputs to each side that an output can hear.
  int reach = out_.kernel - 1;
  for (std::size_t i = stages_.size(); i-- > 0;) {
    for (const ResidualUnit& unit : stages_[i].residuals) reach += reach_of(unit);
    reach = (reach + stages_[i].up.kernel) / stages_[i].up.stride + 1;
  }
  return reach + in_.kernel - 1;
}

Tensor CodecDecoder::upsample(Tensor x) {
  compute::Executor& ex = executor_;
  for (const Stage& stage : stages_) {
    // EncodecConvTranspose1d trims kernel - stride samples.
    const int total = stage.up.kernel - stage.up.stride;
    const int right =
        config_.causal ? static_cast<int>(std::ceil(static_cast<double>(total) * config_.trim_right_ratio)) : total / 2;
    x = ex.conv_transpose(stage.up, x, total - right, right, {Activation::elu, Activation::none, nullptr});
    for (const ResidualUnit& unit : stage.residuals) x = residual_unit(ex, config_, unit, x);
  }
  return ex.conv(out_, x, padding_for(out_, config_, x.rows), {Activation::elu, Activation::none, nullptr});
}

Result<std::vector<float>> CodecDecoder::decode(std::span<const std::int64_t> codes, int codebooks, int frames, int window_frames,
                                                const std::function<bool(double)>& progress) {
  compute::Executor& ex = executor_;
  if (codebooks < 1 || codebooks > config_.codebooks) {
    return fail(ErrorCode::invalid_argument, "the codes have {} codebooks; this model's codec has {}", codebooks,
                config_.codebooks);
  }
  if (frames < 0 || codes.size() != static_cast<std::size_t>(codebooks) * static_cast<std::size_t>(frames)) {
    return fail(ErrorCode::invalid_argument, "{} codes are not {} codebooks of {} frames", codes.size(), codebooks, frames);
  }
  for (const std::int64_t code : codes) {
    if (code < 0 || code >= config_.codebook_size) {
      return fail(ErrorCode::invalid_argument, "code {} is outside this model's codebook (0 to {})", code,
                  config_.codebook_size - 1);
    }
  }
  std::vector<float> audio(static_cast<std::size_t>(frames) * static_cast<std::size_t>(config_.hop()));
  if (frames == 0) return audio;

  std::vector<std::int32_t> ids(codes.size());  // [frames, codebooks]
  for (std::size_t k = 0; k < static_cast<std::size_t>(codebooks); ++k) {
    for (std::size_t t = 0; t < static_cast<std::size_t>(frames); ++t) {
      ids[t * static_cast<std::size_t>(codebooks) + k] =
          static_cast<std::int32_t>(codes[k * static_cast<std::size_t>(frames) + t]);
    }
  }
  ex.begin_pass();
  const Tensor latent =
      ex.embed_sum(std::span(codebooks_).first(static_cast<std::size_t>(codebooks)), ids, 1.0F, {});  // [frames, h]
  Tensor x = ex.conv(in_, latent, padding_for(in_, config_, latent.rows), {});                        // [frames, channels]
  x = lstm_with_skip(ex, lstm_, x);
  const auto channels = static_cast<std::size_t>(x.columns);
  std::vector<float> frames_in(static_cast<std::size_t>(frames) * channels);
  ex.read(x, frames_in);

  const int window = window_frames > 0 ? window_frames : usual_window;
  std::vector<float> samples;
  for (int begin = 0; begin < frames; begin += window) {
    if (progress && !progress(static_cast<double>(begin) / frames)) return fail(ErrorCode::cancelled, "cancelled");
    const int end = std::min(frames, begin + window);
    const int from = std::max(0, begin - context_frames_), to = std::min(frames, end + context_frames_);
    ex.begin_pass();
    const auto part =
        std::span(frames_in).subspan(static_cast<std::size_t>(from) * channels, static_cast<std::size_t>(to - from) * channels);
    const Tensor out = upsample(ex.write(part, to - from));
    samples.resize(static_cast<std::size_t>(out.rows));
    ex.read(out, samples);
    const auto hop = static_cast<std::size_t>(config_.hop());
    std::copy_n(samples.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(begin - from) * hop),
                static_cast<std::size_t>(end - begin) * hop,
                audio.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(begin) * hop));
  }
  return audio;
}

}  // namespace continuo::codec
