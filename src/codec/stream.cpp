#include "codec/stream.h"

#include <algorithm>
#include <cassert>

namespace continuo::codec {

using compute::Tensor;

ChannelStream::ChannelStream(const CodecDecoder& decoder, int codebooks)
    : executor_(decoder.executor_),
      codebooks_(std::span(decoder.codebooks_).first(static_cast<std::size_t>(codebooks))),
      in_(executor_, decoder.config_, decoder.in_),
      lstm_(executor_, decoder.lstm_),
      out_(executor_, decoder.config_, decoder.out_) {
  std::int64_t rows = 1;  // of a frame
  for (const CodecDecoder::Stage& from : decoder.stages_) {
    if (rows < many_rows) split_ = stages_.size() + 1;
    rows *= from.up.stride;
    Stage stage{TransposeStream(executor_, decoder.config_, from.up), {}};
    for (const ResidualUnit& unit : from.residuals) stage.residuals.emplace_back(executor_, decoder.config_, unit);
    stages_.push_back(std::move(stage));
  }
}

Tensor ChannelStream::upsample(Tensor x, std::size_t first_stage, std::size_t last_stage, bool last) {
  for (std::size_t i = first_stage; i < last_stage; ++i) {
    x = stages_[i].up.push(x, last, {Activation::elu, Activation::none, nullptr});  // [frames * ratios so far, channels]
    for (ResidualStream& unit : stages_[i].residuals) x = unit.push(x, last);
  }
  return x;
}

void ChannelStream::pass(std::span<const std::int32_t> ids, bool last, std::vector<float>& out) {
  executor_.begin_pass();
  Tensor x{nullptr, 0, codebooks_[0].width};
  if (!ids.empty()) x = executor_.embed_sum(codebooks_, ids, 1.0F, {});  // [frames, h]
  x = upsample(lstm_.push(in_.push(x, last, {})), 0, split_, last);      // [rows, channels]
  const compute::Mark mark = executor_.mark();
  std::int64_t begin = 0;
  do {
    const std::int64_t rows = std::min<std::int64_t>(x.rows - begin, piece_rows);
    const Tensor piece = executor_.slice(x, begin, rows);
    begin += rows;
    const bool ends = last && begin == x.rows;
    const Tensor samples = out_.push(upsample(piece, split_, stages_.size(), ends), ends,  // [samples, 1]
                                     {Activation::elu, Activation::none, nullptr});
    const std::size_t before = out.size();
    out.resize(before + static_cast<std::size_t>(samples.rows));
    executor_.read(samples, std::span(out).subspan(before));
    executor_.rewind(mark);
  } while (begin < x.rows);
}

void ChannelStream::push(std::span<const std::int32_t> ids, bool last, std::vector<float>& out) {
  const std::size_t most = static_cast<std::size_t>(pass_frames) * codebooks_.size();
  for (; ids.size() > most; ids = ids.subspan(most)) pass(ids.first(most), false, out);
  pass(ids, last, out);
}

std::int64_t ChannelStream::bytes() const {
  std::int64_t bytes = in_.bytes() + lstm_.bytes() + out_.bytes();
  for (const Stage& stage : stages_) {
    bytes += stage.up.bytes();
    for (const ResidualStream& unit : stage.residuals) bytes += unit.bytes();
  }
  return bytes;
}

DecoderStream::DecoderStream(const CodecDecoder& decoder, int codebooks, int channels)
    : decoder_(&decoder), codebooks_(codebooks / channels) {
  for (int i = 0; i < channels; ++i) channels_.emplace_back(decoder, codebooks_);
}

Result<DecoderStream> DecoderStream::start(const CodecDecoder& decoder, int codebooks, int channels) {
  assert(channels >= 1);
  const int most = decoder.config().codebooks * channels;
  if (codebooks < 1 || codebooks > most || codebooks % channels != 0) {
    return fail(ErrorCode::invalid_argument, "the codes have {} codebooks; this model's codec has {}", codebooks, most);
  }
  return DecoderStream(decoder, codebooks, channels);
}

Result<std::vector<float>> DecoderStream::push(std::span<const std::int64_t> codes, int frames) {
  assert(!finished_);
  const std::size_t count = channels_.size(), own = static_cast<std::size_t>(codebooks_);
  if (frames < 0 || codes.size() != count * own * static_cast<std::size_t>(frames)) {
    return fail(ErrorCode::invalid_argument, "{} codes are not {} codebooks of {} frames", codes.size(), count * own, frames);
  }
  const int entries = decoder_->config().codebook_size;
  for (const std::int64_t code : codes) {
    if (code >= 0 && code < entries) continue;
    return fail(ErrorCode::invalid_argument, "code {} is outside this model's codebook (0 to {})", code, entries - 1);
  }
  if (frames == 0) return std::vector<float>{};
  std::vector<std::vector<float>> samples(count);
  std::vector<std::int32_t> ids(own * static_cast<std::size_t>(frames));  // [frames, codebooks]
  for (std::size_t channel = 0; channel < count; ++channel) {
    for (std::size_t k = 0; k < own; ++k) {
      const auto row = codes.subspan((k * count + channel) * static_cast<std::size_t>(frames), static_cast<std::size_t>(frames));
      for (std::size_t t = 0; t < row.size(); ++t) ids[t * own + k] = static_cast<std::int32_t>(row[t]);
    }
    channels_[channel].push(ids, false, samples[channel]);
  }
  frames_ += frames;
  return interleaved(samples);
}

std::vector<float> DecoderStream::finish() {
  assert(!finished_);
  finished_ = true;
  std::vector<std::vector<float>> samples(channels_.size());
  if (frames_ > 0) {
    for (std::size_t channel = 0; channel < channels_.size(); ++channel) channels_[channel].push({}, true, samples[channel]);
  }
  return interleaved(samples);
}

std::vector<float> DecoderStream::interleaved(std::span<const std::vector<float>> samples) const {
  if (samples.size() == 1) return samples[0];
  std::vector<float> frames(samples.size() * samples[0].size());
  for (std::size_t channel = 0; channel < samples.size(); ++channel) {
    for (std::size_t i = 0; i < samples[channel].size(); ++i) frames[i * samples.size() + channel] = samples[channel][i];
  }
  return frames;
}

std::int64_t DecoderStream::bytes() const {
  std::int64_t bytes = 0;
  for (const ChannelStream& channel : channels_) bytes += channel.bytes();
  return bytes;
}

}  // namespace continuo::codec
