// What the engine does for others than pieces: text, codec, measurements. Each runs between two steps on the engine's thread.
#include <algorithm>

#include "engine/local_engine.h"

namespace continuo::engine {

Result<std::vector<float>> LocalEngine::encode_text(std::span<const int> ids) {
  std::vector<float> values;
  on_thread([&] {
    executor_->begin_pass();
    const compute::Tensor hidden = text_->encode(ids);
    values.resize(static_cast<std::size_t>(hidden.rows * hidden.columns));
    executor_->read(hidden, values);
  });
  return values;
}

Result<std::vector<float>> LocalEngine::fingerprint(const std::string& prompt) {
  CONTINUO_TRY(const std::vector<int> ids, tokenize(prompt));
  CONTINUO_CHECK(check_text(static_cast<int>(ids.size())));
  std::vector<float> values;
  on_thread([&] { values = *conditioner_->hear(prompt, ids).fingerprint; });
  return values;
}

Result<std::vector<float>> LocalEngine::decode_codes(std::span<const std::int64_t> codes, int frames, int chunk_frames) {
  const int codebooks = frames > 0 ? static_cast<int>(codes.size() / static_cast<std::size_t>(frames)) : config().codec.codebooks;
  // Of a stereo model also the codes of one channel alone.
  const int channels = codebooks == config().decoder.codebooks ? config().decoder.audio_channels : 1;
  Result<std::vector<float>> samples;
  on_thread([&] { samples = codec_->decode(codes, codebooks, frames, chunk_frames, channels); });
  return samples;
}

Result<std::vector<std::int64_t>> LocalEngine::encode_audio(std::span<const float> audio) {
  Result<std::vector<std::int64_t>> codes;
  on_thread([&] { codes = encode_channels(audio); });
  return codes;
}

Result<std::vector<std::int64_t>> LocalEngine::encode_channels(std::span<const float> audio) {
  if (!encoder_) {  // most runs never encode: load it when it is first asked for
    CONTINUO_TRY(encoder_, codec::CodecEncoder::load(*source_, *executor_));
    source_->release_pages();
  }
  const auto channels = static_cast<std::size_t>(config().decoder.audio_channels);
  std::vector<std::vector<std::int64_t>> of_channel;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<float> samples;
    samples.reserve(audio.size() / channels + 1);
    for (std::size_t i = channel; i < audio.size(); i += channels) samples.push_back(audio[i]);
    CONTINUO_TRY(std::vector<std::int64_t> codes, encoder_->encode(samples));
    of_channel.push_back(std::move(codes));
  }
  if (channels == 1) return std::move(of_channel[0]);
  const std::size_t codebooks = static_cast<std::size_t>(config().codec.codebooks), frames = of_channel[0].size() / codebooks;
  std::vector<std::int64_t> codes;
  for (std::size_t k = 0; k < codebooks; ++k) {
    for (const auto& own : of_channel) {
      codes.insert(codes.end(), own.begin() + static_cast<std::ptrdiff_t>(k * frames),
                   own.begin() + static_cast<std::ptrdiff_t>((k + 1) * frames));
    }
  }
  return codes;
}

Result<Engine::StepTime> LocalEngine::time_step(int rows, int position) {
  Result<StepTime> time;
  on_thread([&] { time = time_steps(rows, position); });
  return time;
}

Result<Engine::StepTime> LocalEngine::time_steps(int rows, int position) {
  if (rows < 1 || position < 0 || position >= decoder_->max_steps()) {
    return fail(ErrorCode::invalid_argument, "a benchmark needs at least 1 row and a position from 0 to {}",
                decoder_->max_steps() - 1);
  }
  CONTINUO_TRY(const auto pool, decoder_->make_kv_pool(kv_type_, rows * compute::KvPool::pages_for(position + 1)));
  std::vector<compute::KvSequence> sequences;
  for (int r = 0; r < rows; ++r) sequences.push_back(std::move(*pool->reserve(position + 1)));
  pool->fill_random(1);
  // Every other row is a null row, as with guidance; the others hear a text of 16 tokens.
  executor_->begin_pass();
  const std::vector<int> words(16, 3);
  const auto cross =
      decoder_->has_prefix() ? nullptr : decoder_->condition(decoder_->project_text(text_->encode(words)), kv_type_);
  std::vector<compute::Row> batch;
  for (int r = 0; r < rows; ++r)
    batch.push_back({&sequences[static_cast<std::size_t>(r)], position, r % 2 == 0 ? cross.get() : nullptr});
  const std::vector<std::int32_t> ids(static_cast<std::size_t>(rows) * static_cast<std::size_t>(config().decoder.codebooks), 1);
  // The first pass grows the arena and the table of positions, which a running piece pays once: take the fastest of several.
  StepTime fastest;
  for (int pass = 0; pass < 12; ++pass) {
    executor_->take_profile();
    const auto start = Clock::now();
    executor_->begin_pass();
    decoder_->step(batch, ids, *pool);
    StepTime time{std::chrono::duration<double, std::milli>(Clock::now() - start).count(), 0.0, executor_->take_profile()};
    for (const compute::OperatorTime& entry : time.operators) time.linear_ms += entry.linear ? entry.seconds * 1e3 : 0.0;
    if (pass == 0 || time.step_ms < fastest.step_ms) fastest = std::move(time);
  }
  return fastest;
}

}  // namespace continuo::engine
