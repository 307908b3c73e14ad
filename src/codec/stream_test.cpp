// The streaming decoder against the whole clip at once: the same samples, bit for bit, for every division into chunks, on every
// instruction set, for codecs of every shape that a checkpoint can ask for.
#include "codec/stream.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <map>
#include <random>

#include "base/half.h"
#include "weights/musicgen_layout.h"

namespace continuo::codec {
namespace {

using compute::Tensor;

/// A small codec with random weights.
class SmallCodec final : public weights::TensorSource {
 public:
  explicit SmallCodec(const weights::CodecConfig& codec, DType type = DType::f32) {
    config_.text = {.width = 8, .layers = 1, .heads = 1, .head_width = 8, .feed_forward = 8, .vocabulary = 8};
    config_.decoder.width = 8;
    config_.decoder.layers = config_.decoder.heads = 1;
    config_.decoder.feed_forward = 8;
    config_.decoder.codebooks = codec.codebooks;
    config_.decoder.codebook_size = codec.codebook_size;
    config_.codec = codec;
    std::mt19937 generator(7);
    for (const weights::TensorSpec& spec : weights::musicgen_layout(config_)) {
      if (!spec.name.starts_with("codec.")) continue;
      const bool half = type == DType::f16 && !spec.always_f32();
      Stored& stored = tensors_[spec.name];
      stored.view = {half ? DType::f16 : DType::f32, spec.shape, {}};
      stored.bytes.resize(static_cast<std::size_t>(spec.shape.elements()) * (half ? 2 : 4));
      const float spread = spec.kind == weights::TensorKind::matrix ? 1.0F / std::sqrt(static_cast<float>(spec.fan_in)) : 0.3F;
      std::normal_distribution<float> values(0.0F, spread);
      for (std::size_t i = 0; i < static_cast<std::size_t>(spec.shape.elements()); ++i) {
        const float value = values(generator);
        const std::uint16_t rounded = float_to_half(value);
        std::memcpy(stored.bytes.data() + i * (half ? 2 : 4), half ? static_cast<const void*>(&rounded) : &value, half ? 2 : 4);
      }
      stored.view.data = stored.bytes;
    }
  }
  const weights::ModelConfig& config() const override { return config_; }
  TensorView tensor(std::string_view name) const override { return tensors_.find(name)->second.view; }
  bool has(std::string_view name) const override { return tensors_.find(name) != tensors_.end(); }

 private:
  struct Stored {
    std::vector<std::byte> bytes;
    TensorView view;
  };
  weights::ModelConfig config_;
  std::map<std::string, Stored, std::less<>> tensors_;
};

/// The 32 kHz model with few channels.
weights::CodecConfig usual_codec() {
  weights::CodecConfig config{.sample_rate = 32000, .filters = 2, .width = 6, .ratios = {8, 5, 4, 4}};
  config.codebooks = 4;
  config.codebook_size = 50;
  return config;
}

struct Shape {
  std::string name;
  weights::CodecConfig config;
};

std::vector<Shape> shapes() {
  std::vector<Shape> all;
  for (const auto& [name, mode] :
       {std::pair{"reflect", PadMode::reflect}, {"zeros", PadMode::constant}, {"replicate", PadMode::replicate}}) {
    weights::CodecConfig config = usual_codec();
    config.pad_mode = mode;
    all.push_back({name, config});
    config.causal = true;
    all.push_back({std::string("causal_") + name, config});
  }
  weights::CodecConfig dilated = usual_codec();
  dilated.ratios = {3, 2};
  dilated.residual_layers = 3;
  dilated.filters = 6;
  dilated.compress = 3;
  all.push_back({"dilated", dilated});
  dilated.causal = dilated.conv_shortcut = true;
  dilated.trim_right_ratio = 0.3F;
  all.push_back({"dilated_causal_shortcut", dilated});
  dilated.trim_right_ratio = 0.0F;
  dilated.pad_mode = PadMode::constant;
  dilated.lstm_layers = 0;
  all.push_back({"all_trimmed_left_no_lstm", dilated});
  weights::CodecConfig wide = usual_codec();  // wide enough for shared panels and several LSTM blocks; odd kernels elsewhere
  wide.ratios = {4, 5};
  wide.filters = 36;
  wide.kernel = 4;
  wide.last_kernel = 1;
  wide.residual_kernel = 5;
  all.push_back({"wide", wide});
  return all;
}

/// The decoder in one piece, straight from the paper's layers: what the streams are compared with.
std::vector<float> whole_clip(const weights::TensorSource& source, compute::Executor& ex, std::span<const std::int32_t> ids) {
  const weights::CodecConfig& config = source.config().codec;
  const Layers layers(source, ex);
  std::vector<compute::Table> tables;
  for (int k = 0; k < config.codebooks; ++k)
    tables.push_back(*ex.load_table(source.tensor(fmt::format("codec.quantizer.{}.codebook", k))));
  const auto conv = [&](const std::string& name, Tensor x, Activation before) {
    const compute::Conv loaded = *layers.load_conv(name);
    return ex.conv(loaded, x, padding_for(loaded, config, x.rows), {before, Activation::none, nullptr});
  };
  ex.begin_pass();
  Tensor x = conv("codec.decoder.in", ex.embed_sum(tables, ids, 1.0F, {}), Activation::none);
  x = lstm_with_skip(ex, *layers.load_lstm("codec.decoder.lstm"), x);
  for (std::size_t i = 0; i < config.ratios.size(); ++i) {
    const std::string name = fmt::format("codec.decoder.up.{}.", i);
    const compute::Conv up = *layers.load_conv_transpose(name + "conv", config.ratios[i]);
    const std::int64_t total = up.kernel - up.stride, zeros = (up.kernel - 1) / up.stride;
    const auto cut = static_cast<std::int64_t>(std::ceil(static_cast<double>(total) * config.trim_right_ratio));
    const std::int64_t right = config.causal ? cut : total / 2;
    std::vector<float> around(static_cast<std::size_t>((x.rows + 2 * zeros) * x.columns));
    ex.read(x,
            std::span(around).subspan(static_cast<std::size_t>(zeros * x.columns), static_cast<std::size_t>(x.rows * x.columns)));
    x = ex.conv_transpose(up, ex.write(around, x.rows + 2 * zeros), total - right, right,
                          {Activation::elu, Activation::none, nullptr});
    const std::vector<ResidualUnit> units = *layers.load_residuals(name);
    for (const ResidualUnit& unit : units) x = residual_unit(ex, config, unit, x);
  }
  x = conv("codec.decoder.out", x, Activation::elu);
  std::vector<float> samples(static_cast<std::size_t>(x.rows));
  ex.read(x, samples);
  return samples;
}

std::vector<std::int64_t> some_codes(int codebooks, int frames) {  // [codebooks, frames]
  std::vector<std::int64_t> codes(static_cast<std::size_t>(codebooks) * static_cast<std::size_t>(frames));
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::int64_t>((i * 7919 + i / 7) % 50);
  return codes;
}

/// Frames begin to begin + count of [codebooks, frames].
std::vector<std::int64_t> part_of(std::span<const std::int64_t> codes, int codebooks, int begin, int count) {
  const std::size_t frames = codes.size() / static_cast<std::size_t>(codebooks);
  std::vector<std::int64_t> part;
  for (std::size_t k = 0; k < static_cast<std::size_t>(codebooks); ++k) {
    const auto row = codes.subspan(k * frames + static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    part.insert(part.end(), row.begin(), row.end());
  }
  return part;
}

std::vector<std::int32_t> by_frame(std::span<const std::int64_t> codes, int codebooks) {
  const std::size_t frames = codes.size() / static_cast<std::size_t>(codebooks);
  std::vector<std::int32_t> ids(codes.size());
  for (std::size_t i = 0; i < codes.size(); ++i)
    ids[i % frames * static_cast<std::size_t>(codebooks) + i / frames] = static_cast<std::int32_t>(codes[i]);
  return ids;
}

std::vector<std::string> isas() {
  std::vector<std::string> names;
  for (const char* name : {"portable", "avx2", "avx512vnni", "neon"}) {
    if (compute::make_cpu_executor({1, name})) names.emplace_back(name);
  }
  return names;
}

class Stream : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { executor_ = std::move(*compute::make_cpu_executor({2, GetParam()})); }

  void load(const weights::CodecConfig& config, DType type = DType::f32) {
    source_ = std::make_unique<SmallCodec>(config, type);
    decoder_ = std::move(*CodecDecoder::load(*source_, *executor_));
  }

  /// Pushes chunks of these sizes in turn, and checks after each what has left.
  std::vector<float> stream(std::span<const std::int64_t> codes, const std::vector<int>& sizes) {
    const int codebooks = source_->config().codec.codebooks, frames = static_cast<int>(codes.size()) / codebooks;
    DecoderStream stream = std::move(*DecoderStream::start(*decoder_, codebooks));
    std::vector<float> audio;
    std::size_t turn = 0;
    for (int begin = 0; begin < frames;) {
      const int count = std::min(sizes[turn++ % sizes.size()], frames - begin);
      const auto samples = stream.push(part_of(codes, codebooks, begin, count), count);
      EXPECT_TRUE(samples);
      audio.insert(audio.end(), samples->begin(), samples->end());
      begin += count;
      EXPECT_EQ(static_cast<std::int64_t>(audio.size()), decoder_->samples_ready(begin)) << "after " << begin << " frames";
    }
    const std::vector<float> rest = stream.finish();
    audio.insert(audio.end(), rest.begin(), rest.end());
    return audio;
  }

  std::unique_ptr<compute::Executor> executor_;
  std::unique_ptr<SmallCodec> source_;
  std::unique_ptr<CodecDecoder> decoder_;
};

TEST_P(Stream, EveryChunkingGivesTheWholeClipsSamples) {
  for (const Shape& shape : shapes()) {
    load(shape.config);
    const auto codes = some_codes(4, 61);
    const std::vector<float> whole = whole_clip(*source_, *executor_, by_frame(codes, 4));
    ASSERT_EQ(static_cast<std::size_t>(61 * shape.config.hop()), whole.size());
    for (const std::vector<int>& sizes : {std::vector{1}, {2}, {3}, {7}, {25}, {61}, {1, 13, 2, 40, 5}}) {
      EXPECT_EQ(whole, stream(codes, sizes)) << shape.name << ", chunks of " << sizes[0];
    }
    EXPECT_EQ(whole, *decoder_->decode(codes, 4, 61)) << shape.name;
    EXPECT_EQ(whole, *decoder_->decode(codes, 4, 61, 9)) << shape.name;
  }
}

TEST_P(Stream, ShortClips) {
  for (const Shape& shape : shapes()) {
    load(shape.config);
    for (int frames = 1; frames <= 10; ++frames) {
      const auto codes = some_codes(4, frames);
      const std::vector<float> whole = whole_clip(*source_, *executor_, by_frame(codes, 4));
      for (const int size : {1, 2, 10})
        EXPECT_EQ(whole, stream(codes, {size})) << shape.name << ", " << frames << " frames by " << size;
    }
  }
}

TEST_P(Stream, HalfPrecisionWeights) {
  load(shapes().back().config, DType::f16);
  const auto codes = some_codes(4, 40);
  EXPECT_EQ(whole_clip(*source_, *executor_, by_frame(codes, 4)), stream(codes, {1, 6}));
}

TEST_P(Stream, StereoIsTwoStreams) {
  load(usual_codec());
  const auto codes = some_codes(8, 30);
  std::vector<std::int64_t> of_side[2];
  for (int k = 0; k < 8; ++k) of_side[k % 2].insert(of_side[k % 2].end(), codes.begin() + k * 30, codes.begin() + (k + 1) * 30);
  const auto left = *decoder_->decode(of_side[0], 4, 30), right = *decoder_->decode(of_side[1], 4, 30);
  ASSERT_NE(left, right);
  DecoderStream stream = std::move(*DecoderStream::start(*decoder_, 8, 2));
  std::vector<float> audio;
  for (int begin = 0; begin < 30; begin += 5) {
    const auto samples = *stream.push(part_of(codes, 8, begin, 5), 5);
    audio.insert(audio.end(), samples.begin(), samples.end());
  }
  const auto rest = stream.finish();
  audio.insert(audio.end(), rest.begin(), rest.end());
  ASSERT_EQ(2 * left.size(), audio.size());
  for (std::size_t i = 0; i < left.size(); ++i) {
    ASSERT_EQ(left[i], audio[2 * i]) << i;
    ASSERT_EQ(right[i], audio[2 * i + 1]) << i;
  }
}

TEST_P(Stream, ManyAtOnceAndSomeDropped) {
  load(usual_codec());
  const auto first = some_codes(4, 24), second = part_of(some_codes(4, 60), 4, 30, 24);
  DecoderStream a = std::move(*DecoderStream::start(*decoder_, 4));
  auto dropped = std::make_unique<DecoderStream>(std::move(*DecoderStream::start(*decoder_, 4)));
  DecoderStream b = std::move(*DecoderStream::start(*decoder_, 4));
  std::vector<float> of_a, of_b;
  const auto add = [](std::vector<float>& to, const std::vector<float>& samples) {
    to.insert(to.end(), samples.begin(), samples.end());
  };
  for (int begin = 0; begin < 24; begin += 3) {
    add(of_a, *a.push(part_of(first, 4, begin, 3), 3));
    if (begin == 12) dropped.reset();  // in the middle of its clip
    if (dropped) {
      ASSERT_TRUE(dropped->push(part_of(second, 4, begin, 3), 3));
    }
    add(of_b, *b.push(part_of(second, 4, begin, 3), 3));
  }
  add(of_a, a.finish());
  add(of_b, b.finish());
  EXPECT_EQ(whole_clip(*source_, *executor_, by_frame(first, 4)), of_a);
  EXPECT_EQ(whole_clip(*source_, *executor_, by_frame(second, 4)), of_b);
}

TEST_P(Stream, FewerCodebooks) {
  load(usual_codec());
  const auto codes = some_codes(4, 12);
  const auto two = std::span(codes).first(24);
  DecoderStream stream = std::move(*DecoderStream::start(*decoder_, 2));
  std::vector<float> audio = *stream.push(two, 12);
  const auto rest = stream.finish();
  audio.insert(audio.end(), rest.begin(), rest.end());
  EXPECT_EQ(*decoder_->decode(two, 2, 12), audio);
  EXPECT_NE(*decoder_->decode(codes, 4, 12), audio);
}

TEST_P(Stream, WhatItHoldsDoesNotGrow) {
  load(usual_codec());
  const auto codes = some_codes(4, 20);
  DecoderStream stream = std::move(*DecoderStream::start(*decoder_, 4));
  const std::int64_t bytes = stream.bytes();
  // Rows before the next: 6 of 6 latents, 2 layers x 2 states of 32, for each stage 1 before up-sampling, 2 and a skip of 1 in
  // its residual unit, 6 of 2 channels before the samples.
  const std::int64_t stages = (32 + 3 * 16) + (16 + 3 * 8) + (8 + 3 * 4) + (4 + 3 * 2);
  EXPECT_EQ(static_cast<std::int64_t>(sizeof(float)) * (6 * 6 + 4 * 32 + stages + 6 * 2), bytes);
  for (int i = 0; i < 10; ++i) ASSERT_TRUE(stream.push(codes, 20));
  EXPECT_EQ(bytes, stream.bytes());
  EXPECT_EQ(200, stream.frames());
}

TEST_P(Stream, RefusesWrongCodesAndGoesOn) {
  load(usual_codec());
  EXPECT_FALSE(DecoderStream::start(*decoder_, 0));
  EXPECT_FALSE(DecoderStream::start(*decoder_, 5));
  EXPECT_FALSE(DecoderStream::start(*decoder_, 5, 2));
  DecoderStream stream = std::move(*DecoderStream::start(*decoder_, 4));
  const auto codes = some_codes(4, 8);
  std::vector<float> audio = *stream.push(codes, 8);
  EXPECT_FALSE(stream.push(std::span(codes).first(31), 8));
  EXPECT_FALSE(stream.push(codes, -8));
  for (const std::int64_t wrong : {std::int64_t{-1}, std::int64_t{50}, std::int64_t{1} << 40}) {
    auto bad = codes;
    bad.back() = wrong;
    const auto refused = stream.push(bad, 8);
    ASSERT_FALSE(refused);
    EXPECT_NE(std::string::npos, refused.error().message.find("0 to 49")) << refused.error().message;
  }
  EXPECT_TRUE(stream.push({}, 0)->empty());
  const auto rest = stream.finish();
  audio.insert(audio.end(), rest.begin(), rest.end());
  EXPECT_EQ(whole_clip(*source_, *executor_, by_frame(codes, 4)), audio);
  EXPECT_TRUE(DecoderStream::start(*decoder_, 4)->finish().empty());
}

INSTANTIATE_TEST_SUITE_P(Isa, Stream, ::testing::ValuesIn(isas()), [](const auto& each) { return each.param; });

TEST(Latency, OfThe32KHzModel) {
  const auto executor = std::move(*compute::make_cpu_executor({1, "portable"}));
  const SmallCodec source(usual_codec());
  const auto decoder = std::move(*CodecDecoder::load(source, *executor));
  EXPECT_EQ(4, decoder->look_ahead());
  for (int frames = 0; frames < 4; ++frames) EXPECT_EQ(0, decoder->samples_ready(frames));
  // Every layer's share, from the latents on: 3, then 4 and 1, 3 and 1, 2 and 1, 2 and 1, and 3 at the end.
  EXPECT_EQ((((((4 - 3) * 8 - 4 - 1) * 5 - 3 - 1) * 4 - 2 - 1) * 4 - 2 - 1) - 3, decoder->samples_ready(4));
  for (const std::int64_t frames : {5, 6, 100}) EXPECT_EQ(640 * frames - 2402, decoder->samples_ready(frames));
  EXPECT_EQ(4, decoder->frames_before(0));
  EXPECT_EQ(5, decoder->frames_before(639));
  EXPECT_EQ(103, decoder->frames_before(99 * 640));
  EXPECT_EQ(104, decoder->frames_before(100 * 640 - 1));
}

TEST(Latency, SampleAndFrameCountsAgree) {
  const auto executor = std::move(*compute::make_cpu_executor({1, "portable"}));
  for (const Shape& shape : shapes()) {
    const SmallCodec source(shape.config);
    const auto decoder = std::move(*CodecDecoder::load(source, *executor));
    for (std::int64_t sample = 0; sample < 12 * shape.config.hop(); ++sample) {
      const std::int64_t frames = decoder->frames_before(sample);
      ASSERT_GT(decoder->samples_ready(frames), sample) << shape.name;
      ASSERT_LE(decoder->samples_ready(frames - 1), sample) << shape.name;
      ASSERT_LE(frames, sample / shape.config.hop() + 1 + decoder->look_ahead()) << shape.name;
    }
  }
}

TEST(Latency, CausalZeroPaddingWaitsForNothing) {
  const auto executor = std::move(*compute::make_cpu_executor({1, "portable"}));
  weights::CodecConfig config = usual_codec();
  config.causal = true;
  config.pad_mode = PadMode::constant;
  const SmallCodec source(config);
  const auto decoder = std::move(*CodecDecoder::load(source, *executor));
  EXPECT_EQ(0, decoder->look_ahead());
  EXPECT_EQ(640, decoder->samples_ready(1));
}

}  // namespace
}  // namespace continuo::codec
