#include "quality/measured_model.h"

#include <algorithm>
#include <utility>

#include "music/delay_pattern.h"
#include "music/sampling.h"

namespace continuo::quality {

namespace {

constexpr int rows_a_pass = 32;  // of a prefill: enough to read the weights rarely

/// The column that a step hears.
std::vector<std::int32_t> heard(const music::DelayPattern& pattern, const Piece& piece, int step, int special_id) {
  const std::vector<std::int64_t>& codes = piece.heard.empty() ? piece.codes : piece.heard;
  std::vector<std::int32_t> ids;
  for (int k = 0; k < pattern.codebooks(); ++k) {
    const int frame = pattern.frame_heard(step, k);
    ids.push_back(frame < 0 ? special_id : static_cast<std::int32_t>(codes[static_cast<std::size_t>(k * piece.frames + frame)]));
  }
  return ids;
}

}  // namespace

Result<MeasuredModel> MeasuredModel::open(const std::string& path, compute::KvType kv, int threads) {
  MeasuredModel model;
  model.kv_ = kv;
  CONTINUO_TRY(model.source_, weights::open_model(path));
  if (model.config().is_melody()) return fail(ErrorCode::unsupported, "{}: melody models are not measured here", path);
  CONTINUO_TRY(model.executor_, compute::make_cpu_executor({threads, ""}));
  CONTINUO_TRY(model.tokenizer_, text::Tokenizer::create(model.config().tokenizer, model.config().text.vocabulary));
  CONTINUO_TRY(model.encoder_, text::T5Encoder::load(*model.source_, *model.executor_));
  CONTINUO_TRY(model.decoder_, music::MusicDecoder::load(*model.source_, *model.executor_));
  return model;
}

Result<std::unique_ptr<compute::CrossKv>> MeasuredModel::condition(const std::string& prompt) {
  CONTINUO_TRY(const std::vector<int> ids, tokenizer_->encode(prompt));
  executor_->begin_pass();
  return decoder_->condition(decoder_->project_text(encoder_->encode(ids)), compute::KvType::f32);
}

std::vector<float> MeasuredModel::row_logits(const Piece& piece, const compute::CrossKv* conditioning, compute::KvPool& pool) {
  const music::DelayPattern pattern(config().decoder.delays, piece.frames);
  const auto width = static_cast<std::size_t>(pattern.codebooks()) * static_cast<std::size_t>(config().decoder.codebook_size);
  auto sequence = std::move(*pool.reserve(pattern.steps()));  // the pool was made for it
  std::vector<float> logits(static_cast<std::size_t>(pattern.steps()) * width);
  for (int first = 0; first < pattern.steps(); first += rows_a_pass) {
    std::vector<compute::Row> rows;
    std::vector<std::int32_t> ids;
    for (int step = first; step < std::min(first + rows_a_pass, pattern.steps()); ++step) {
      rows.push_back({&sequence, step, conditioning});
      const auto column = heard(pattern, piece, step, config().decoder.special_id);
      ids.insert(ids.end(), column.begin(), column.end());
    }
    executor_->begin_pass();
    const compute::Tensor made = decoder_->step(rows, ids, pool);
    executor_->read(made, std::span(logits).subspan(static_cast<std::size_t>(first) * width, rows.size() * width));
  }
  return logits;
}

Result<std::vector<float>> MeasuredModel::logits(const Piece& piece, float guidance) {
  const int steps = music::DelayPattern(config().decoder.delays, piece.frames).steps();
  CONTINUO_TRY(const auto cross, condition(piece.prompt));
  CONTINUO_TRY(const auto pool, decoder_->make_kv_pool(kv_, compute::KvPool::pages_for(steps)));
  std::vector<float> logits = row_logits(piece, cross.get(), *pool);
  if (guidance != 1.0F) music::apply_guidance(logits, row_logits(piece, nullptr, *pool), guidance);
  return logits;
}

Result<Piece> MeasuredModel::greedy(const std::string& prompt, int frames, float guidance) {
  const weights::DecoderConfig& decoder = config().decoder;
  const music::DelayPattern pattern(decoder.delays, frames);
  const auto entries = static_cast<std::size_t>(decoder.codebook_size);
  const std::size_t width = static_cast<std::size_t>(decoder.codebooks) * entries;
  Piece piece{prompt, std::vector<std::int64_t>(static_cast<std::size_t>(decoder.codebooks * frames)), {}, frames};
  CONTINUO_TRY(const auto cross, condition(prompt));
  CONTINUO_TRY(const auto pool, decoder_->make_kv_pool(kv_, 2 * compute::KvPool::pages_for(pattern.steps())));
  auto prompted = std::move(*pool->reserve(pattern.steps())), null = std::move(*pool->reserve(pattern.steps()));
  for (int step = 0; step < pattern.steps(); ++step) {
    const compute::Row rows[] = {{&prompted, step, cross.get()}, {&null, step, nullptr}};
    std::vector<std::int32_t> ids = heard(pattern, piece, step, decoder.special_id);
    ids.insert(ids.end(), ids.begin(), ids.begin() + decoder.codebooks);
    executor_->begin_pass();
    std::vector<float> logits(2 * width);
    executor_->read(decoder_->step(rows, ids, *pool), logits);
    music::apply_guidance(std::span(logits).first(width), std::span(logits).last(width), guidance);
    for (int k = 0; k < decoder.codebooks; ++k) {
      const int frame = pattern.frame_written(step, k);
      if (frame < 0) continue;
      const auto first = logits.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(k) * entries);
      piece.codes[static_cast<std::size_t>(k * frames + frame)] =
          std::max_element(first, first + static_cast<std::ptrdiff_t>(entries)) - first;
    }
  }
  return piece;
}

}  // namespace continuo::quality
