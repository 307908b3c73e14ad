#include "engine/engine.h"

#include <algorithm>
#include <chrono>
#include <map>

#include "codec/decoder.h"
#include "codec/encoder.h"
#include "engine/batch.h"
#include "text/t5_encoder.h"
#include "text/tokenizer.h"

namespace continuo::engine {

namespace {

class Stopwatch {
 public:
  double seconds() const { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

/// Gives the pages of all jobs back when it goes out of scope.
class ReleaseJobs {
 public:
  explicit ReleaseJobs(std::span<Job> jobs) : jobs_(jobs) {}
  ReleaseJobs(const ReleaseJobs&) = delete;
  ReleaseJobs& operator=(const ReleaseJobs&) = delete;
  ~ReleaseJobs() {
    for (Job& job : jobs_) job.release();
  }

 private:
  std::span<Job> jobs_;
};

tl::unexpected<Error> interrupted() { return fail(ErrorCode::cancelled, "interrupted"); }

/// A prompt after the text encoder: what cross-attending models attend to, or the projected text [tokens, d] of melody models.
struct Text {
  std::unique_ptr<compute::CrossKv> cross;
  std::vector<float> projected;
};
using Texts = std::map<std::string, Text>;

class LocalEngine final : public Engine {
 public:
  LocalEngine(std::unique_ptr<weights::TensorSource> source, std::unique_ptr<compute::Executor> executor, compute::KvType kv_type)
      : source_(std::move(source)), executor_(std::move(executor)), kv_type_(kv_type) {}

  Status load() {
    const weights::ModelConfig& config = source_->config();
    if (!config.tokenizer.model_proto.empty()) {
      CONTINUO_TRY(tokenizer_, text::Tokenizer::create(config.tokenizer, config.text.vocabulary));
    }
    CONTINUO_TRY(text_, text::T5Encoder::load(*source_, *executor_));
    CONTINUO_TRY(decoder_, music::MusicDecoder::load(*source_, *executor_));
    CONTINUO_TRY(codec_, codec::CodecDecoder::load(*source_, *executor_));
    source_->release_pages();
    return {};
  }

  const weights::ModelConfig& config() const override { return source_->config(); }
  int threads() const override { return executor_->threads(); }
  std::string isa() const override { return executor_->isa(); }
  Timing last_timing() const override { return timing_; }

  Result<std::vector<Clip>> generate(std::span<const Request> requests, const std::function<void(const Progress&)>& progress,
                                     const std::function<bool()>& cancelled) override;

  Result<std::vector<int>> tokenize(const std::string& prompt) const override {
    if (!tokenizer_) return fail(ErrorCode::unsupported, "this model has no tokenizer");
    CONTINUO_TRY(std::vector<int> ids, tokenizer_->encode(prompt));
    const auto beyond = std::find_if(ids.begin(), ids.end(), [&](int id) { return id < 0 || id >= config().text.vocabulary; });
    if (beyond != ids.end()) {
      return fail(ErrorCode::corrupt_file, "the tokenizer gave id {}, but the text encoder has only {} embeddings", *beyond,
                  config().text.vocabulary);
    }
    return ids;
  }

  Result<std::vector<float>> encode_text(std::span<const int> ids) override {
    executor_->begin_pass();
    const compute::Tensor hidden = text_->encode(ids);
    std::vector<float> values(static_cast<std::size_t>(hidden.rows * hidden.columns));
    executor_->read(hidden, values);
    return values;
  }

  Result<std::vector<float>> decode_codes(std::span<const std::int64_t> codes, int frames, int window_frames) override {
    return decode_audio(codes, frames, window_frames, {});
  }
  Result<std::vector<std::int64_t>> encode_audio(std::span<const float> audio) override;

  Result<StepTime> time_step(int rows, int position) override;
  std::int64_t step_weight_bytes() const override { return decoder_->step_weight_bytes(); }
  std::int64_t kv_bytes(int position) const override {
    const weights::DecoderConfig& decoder = config().decoder;
    const std::int64_t width = decoder.width;
    const std::int64_t vector = kv_type_ == compute::KvType::f32   ? 4 * width
                                : kv_type_ == compute::KvType::f16 ? 2 * width
                                                                   : width + 4 * decoder.heads;
    return 2 * decoder.layers * vector * (position + 1);
  }

 private:
  /// As decode_codes; progress as in CodecDecoder::decode.
  Result<std::vector<float>> decode_audio(std::span<const std::int64_t> codes, int frames, int window_frames,
                                          const std::function<bool(double)>& progress);
  Result<Texts> encode_texts(std::span<const Request> requests, const std::function<bool()>& cancelled);
  Conditioning condition(const Request& request, const Texts& texts);
  /// Runs jobs through the decoder together; every job gives its pages back.
  Status decode_batch(std::span<Job> jobs, const std::function<void()>& stepped, const std::function<bool()>& cancelled);

  std::unique_ptr<weights::TensorSource> source_;
  std::unique_ptr<compute::Executor> executor_;
  compute::KvType kv_type_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::unique_ptr<text::T5Encoder> text_;
  std::unique_ptr<music::MusicDecoder> decoder_;
  std::unique_ptr<codec::CodecDecoder> codec_;
  std::unique_ptr<codec::CodecEncoder> encoder_;
  Timing timing_;
};

Result<Texts> LocalEngine::encode_texts(std::span<const Request> requests, const std::function<bool()>& cancelled) {
  Texts texts;  // each once, however many requests share it
  for (const Request& request : requests) {
    if (request.prompt.empty() || texts.contains(request.prompt)) continue;
    if (cancelled && cancelled()) return interrupted();
    CONTINUO_TRY(const std::vector<int> ids, tokenize(request.prompt));
    executor_->begin_pass();
    const compute::Tensor projected = decoder_->project_text(text_->encode(ids));
    Text& text = texts[request.prompt];
    if (decoder_->has_prefix()) {
      text.projected.resize(static_cast<std::size_t>(projected.rows * projected.columns));
      executor_->read(projected, text.projected);
    } else {
      text.cross = decoder_->condition(projected, kv_type_);
    }
  }
  return texts;
}

Conditioning LocalEngine::condition(const Request& request, const Texts& texts) {
  Conditioning conditioning;
  conditioning.present = !request.prompt.empty() || !request.melody.empty();
  if (!decoder_->has_prefix()) {
    if (!request.prompt.empty()) conditioning.cross = texts.at(request.prompt).cross.get();
    return conditioning;
  }
  // The null row hears silence and as many empty text rows; no prompt is one empty row, as in transformers.
  const auto width = static_cast<std::size_t>(config().decoder.width);
  const std::vector<float> text = request.prompt.empty() ? std::vector<float>(width, 0.0F) : texts.at(request.prompt).projected;
  if (conditioning.present) conditioning.prefix = decoder_->prefix(request.melody, text);
  conditioning.null_prefix = decoder_->prefix({}, std::vector<float>(text.size(), 0.0F));
  return conditioning;
}

Status LocalEngine::decode_batch(std::span<Job> jobs, const std::function<void()>& stepped,
                                 const std::function<bool()>& cancelled) {
  int pages = 0;
  for (const Job& job : jobs) pages += job.rows() * compute::KvPool::pages_for(job.positions());
  CONTINUO_TRY(const auto pool, decoder_->make_kv_pool(kv_type_, pages));
  const ReleaseJobs release(jobs);  // before the pool ends, on every way out
  for (Job& job : jobs) {
    if (!job.reserve(*pool)) return fail(ErrorCode::io, "too few K/V pages for the batch");
    job.prefill_prefix(*decoder_, *executor_, *pool);
    if (cancelled && cancelled()) return interrupted();
  }
  const std::size_t row_logits =
      static_cast<std::size_t>(config().decoder.codebooks) * static_cast<std::size_t>(config().decoder.codebook_size);
  std::vector<compute::Row> rows;
  std::vector<std::int32_t> ids;
  std::vector<float> logits;
  for (;;) {
    rows.clear();
    ids.clear();
    for (Job& job : jobs) {
      if (!job.done()) job.add_rows(rows, ids);
    }
    if (rows.empty()) return {};
    if (cancelled && cancelled()) return interrupted();
    executor_->begin_pass();
    const compute::Tensor out = decoder_->step(rows, ids, *pool);
    logits.resize(rows.size() * row_logits);
    executor_->read(out, logits);
    std::size_t first = 0;
    for (Job& job : jobs) {
      if (job.done()) continue;
      const std::size_t size = static_cast<std::size_t>(job.rows() * job.steps_now()) * row_logits;
      CONTINUO_CHECK(job.advance(std::span(logits).subspan(first, size)));
      first += size;
      if (job.done()) job.release();
    }
    stepped();
  }
}

Result<std::vector<Clip>> LocalEngine::generate(std::span<const Request> requests,
                                                const std::function<void(const Progress&)>& progress,
                                                const std::function<bool()>& cancelled) {
  timing_ = {};
  for (const Request& request : requests) CONTINUO_CHECK(validate(request, config()));
  const double frame_rate = config().codec.frame_rate();
  Progress told;
  for (const Request& request : requests) told.audio_seconds_total += frame_count(request.seconds, config()) / frame_rate;
  const auto tell = [&](Stage stage, double seconds) {
    told.stage = stage;
    told.audio_seconds = seconds;
    if (progress) progress(told);
  };

  Stopwatch text_watch;
  tell(Stage::text, 0.0);
  CONTINUO_TRY(const Texts texts, encode_texts(requests, cancelled));
  timing_.text_seconds = text_watch.seconds();

  Stopwatch decoder_watch;
  std::vector<Job> jobs;
  jobs.reserve(requests.size());
  for (const Request& request : requests) {
    jobs.emplace_back(request, config(), condition(request, texts));
  }
  double finished = 0.0;  // seconds of audio in earlier batches
  for (std::size_t begin = 0; begin < jobs.size();) {
    std::size_t end = begin;
    for (std::int64_t bytes = 0; end < jobs.size(); ++end) {
      bytes += jobs[end].rows() * kv_bytes(jobs[end].positions());
      if (end > begin && bytes > max_batch_kv_bytes) break;
    }
    const std::span<Job> batch(jobs.data() + begin, end - begin);
    const auto seconds_done = [&] {
      double seconds = 0.0;
      for (const Job& job : batch) seconds += job.complete_frames() / frame_rate;
      return seconds;
    };
    CONTINUO_CHECK(decode_batch(
        batch, [&] { tell(Stage::decoder, finished + seconds_done()); }, cancelled));
    finished += seconds_done();
    begin = end;
  }
  timing_.decoder_seconds = decoder_watch.seconds();

  Stopwatch codec_watch;
  std::vector<Clip> clips;
  for (const Job& job : jobs) {
    Clip clip{job.codes(), config().decoder.codebooks, job.frames(), config().decoder.audio_channels,
              {},          config().codec.sample_rate};
    const auto go_on = [&](double) {
      tell(Stage::codec, finished);
      return !(cancelled && cancelled());
    };
    auto audio = decode_audio(clip.codes, clip.frames, 0, go_on);
    if (!audio && audio.error().code == ErrorCode::cancelled) return interrupted();
    if (!audio) return forward_error(std::move(audio).error());
    clip.audio = std::move(*audio);
    clips.push_back(std::move(clip));
  }
  timing_.codec_seconds = codec_watch.seconds();
  return clips;
}

Result<std::vector<float>> LocalEngine::decode_audio(std::span<const std::int64_t> codes, int frames, int window_frames,
                                                     const std::function<bool(double)>& progress) {
  const int codebooks = frames > 0 ? static_cast<int>(codes.size() / static_cast<std::size_t>(frames)) : config().codec.codebooks;
  const auto channels = static_cast<std::size_t>(config().decoder.audio_channels);
  if (channels == 1 || codebooks != config().decoder.codebooks)
    return codec_->decode(codes, codebooks, frames, window_frames, progress);
  // The codebooks of the channels alternate: left, right, left, right ...; the codec itself is mono.
  std::vector<float> audio;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<std::int64_t> own;
    for (std::size_t k = channel; k < static_cast<std::size_t>(codebooks); k += channels) {
      const auto row = codes.subspan(k * static_cast<std::size_t>(frames), static_cast<std::size_t>(frames));
      own.insert(own.end(), row.begin(), row.end());
    }
    CONTINUO_TRY(const std::vector<float> samples,
                 codec_->decode(own, codebooks / static_cast<int>(channels), frames, window_frames, progress));
    audio.resize(samples.size() * channels);
    for (std::size_t i = 0; i < samples.size(); ++i) audio[i * channels + channel] = samples[i];
  }
  return audio;
}

Result<std::vector<std::int64_t>> LocalEngine::encode_audio(std::span<const float> audio) {
  if (!encoder_) {  // most runs never encode: load it when it is first asked for
    CONTINUO_TRY(encoder_, codec::CodecEncoder::load(*source_, *executor_));
    source_->release_pages();
  }
  const auto channels = static_cast<std::size_t>(config().decoder.audio_channels);
  std::vector<std::vector<std::int64_t>> of_channel;
  for (std::size_t channel = 0; channel < channels; ++channel) {
    std::vector<float> samples;
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
  if (rows < 1 || position < 0 || position >= decoder_->max_steps()) {
    return fail(ErrorCode::invalid_argument, "a benchmark needs at least 1 row and a position from 0 to {}",
                decoder_->max_steps() - 1);
  }
  CONTINUO_TRY(const auto pool, decoder_->make_kv_pool(kv_type_, rows * compute::KvPool::pages_for(position + 1)));
  pool->fill_random(1);
  std::vector<compute::KvSequence> sequences;
  for (int r = 0; r < rows; ++r) sequences.push_back(std::move(*pool->reserve(position + 1)));
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
    const Stopwatch watch;
    executor_->begin_pass();
    decoder_->step(batch, ids, *pool);
    StepTime time{watch.seconds() * 1e3, 0.0, executor_->take_profile()};
    for (const compute::OperatorTime& entry : time.operators) time.linear_ms += entry.linear ? entry.seconds * 1e3 : 0.0;
    if (pass == 0 || time.step_ms < fastest.step_ms) fastest = std::move(time);
  }
  return fastest;
}

}  // namespace

Result<std::unique_ptr<Engine>> Engine::create(std::unique_ptr<weights::TensorSource> source, const EngineOptions& options) {
  compute::KvType kv_type;
  if (options.kv == "f32") {
    kv_type = compute::KvType::f32;
  } else if (options.kv == "f16") {
    kv_type = compute::KvType::f16;
  } else if (options.kv == "int8") {
    kv_type = compute::KvType::int8;
  } else {
    return fail(ErrorCode::invalid_argument, "unknown type '{}' for keys and values; choose int8, f16 or f32", options.kv);
  }
  CONTINUO_TRY(auto executor, compute::make_cpu_executor({options.threads, options.isa}));
  auto engine = std::make_unique<LocalEngine>(std::move(source), std::move(executor), kv_type);
  CONTINUO_CHECK(engine->load());
  return engine;
}

}  // namespace continuo::engine
