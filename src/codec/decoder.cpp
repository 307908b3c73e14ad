#include "codec/decoder.h"

#include <algorithm>
#include <cassert>

#include "codec/stream.h"

namespace continuo::codec {

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
  return decoder;
}

std::int64_t CodecDecoder::samples_ready(std::int64_t frames) const {
  std::int64_t rows = conv_ready(in_, config_, frames);
  for (const Stage& stage : stages_) {
    rows = transpose_ready(stage.up, config_, rows);
    for (const ResidualUnit& unit : stage.residuals) rows = residual_ready(unit, config_, rows);
  }
  return conv_ready(out_, config_, rows);
}

std::int64_t CodecDecoder::frames_before(std::int64_t sample) const {
  std::int64_t frames = sample / config_.hop() + 1;  // a frame makes hop samples, so fewer cannot do
  while (samples_ready(frames) <= sample) ++frames;
  return frames;
}

int CodecDecoder::look_ahead() const {
  // What waits between the layers grows until all have started and is constant from then on.
  int most = 0;
  for (std::int64_t frame = 0; frame == 0 || samples_ready(frame - 1) == 0; ++frame) {
    std::int64_t needed = frame + 1;
    while (samples_ready(needed) < (frame + 1) * config_.hop()) ++needed;
    most = std::max(most, static_cast<int>(needed - frame - 1));
  }
  return most;
}

Result<std::vector<float>> CodecDecoder::decode(std::span<const std::int64_t> codes, int codebooks, int frames, int chunk_frames,
                                                int channels, const std::function<bool(double)>& progress) const {
  CONTINUO_TRY(DecoderStream stream, DecoderStream::start(*this, codebooks, channels));
  if (frames < 0 || codes.size() != static_cast<std::size_t>(codebooks) * static_cast<std::size_t>(frames)) {
    return fail(ErrorCode::invalid_argument, "{} codes are not {} codebooks of {} frames", codes.size(), codebooks, frames);
  }
  const int step = chunk_frames > 0 ? chunk_frames : pass_frames;
  std::vector<float> audio;
  audio.reserve(static_cast<std::size_t>(frames) * static_cast<std::size_t>(config_.hop() * channels));
  std::vector<std::int64_t> chunk;
  for (int begin = 0; begin < frames; begin += step) {
    if (progress && !progress(static_cast<double>(begin) / frames)) return fail(ErrorCode::cancelled, "cancelled");
    const int count = std::min(step, frames - begin);
    chunk.clear();
    for (int k = 0; k < codebooks; ++k) {
      const auto row = codes.begin() + static_cast<std::ptrdiff_t>(k) * frames + begin;
      chunk.insert(chunk.end(), row, row + count);
    }
    CONTINUO_TRY(const std::vector<float> samples, stream.push(chunk, count));
    audio.insert(audio.end(), samples.begin(), samples.end());
  }
  const std::vector<float> rest = stream.finish();
  audio.insert(audio.end(), rest.begin(), rest.end());
  return audio;
}

}  // namespace continuo::codec
