#include "engine/conditioner.h"

#include <cstring>

namespace continuo::engine {

std::int64_t HeardText::bytes() const {
  std::int64_t total = cross == nullptr ? 0 : cross->bytes();
  for (const auto& values : {projected, fingerprint}) {
    if (values != nullptr) total += static_cast<std::int64_t>(values->size() * sizeof(float));
  }
  return total;
}

Conditioner::Conditioner(text::T5Encoder& text, music::MusicDecoder& decoder, compute::Executor& executor, Options options)
    : text_(text), decoder_(decoder), executor_(executor), options_(std::move(options)) {}

HeardText Conditioner::hear(const std::string& prompt, std::span<const int> ids) {
  if (const auto known = by_prompt_.find(prompt); known != by_prompt_.end()) {
    ++hits_;
    kept_.splice(kept_.begin(), kept_, known->second);
    return known->second->heard;
  }
  ++misses_;
  std::optional<HeardText> heard = restore(prompt, static_cast<int>(ids.size()));
  if (heard) {
    ++restored_;
  } else {
    heard = compute(ids);
    if (options_.store) options_.store->put(prompt, *heard);
  }
  remember(prompt, *heard);
  return std::move(*heard);
}

std::optional<HeardText> Conditioner::restore(const std::string& prompt, int tokens) {
  if (!options_.store) return std::nullopt;
  const auto record = options_.store->find(prompt);
  if (!record) return std::nullopt;
  const auto floats = [](std::span<const std::byte> bytes) {
    std::vector<float> values(bytes.size() / sizeof(float));
    if (!values.empty()) std::memcpy(values.data(), bytes.data(), values.size() * sizeof(float));
    return std::make_shared<const std::vector<float>>(std::move(values));
  };
  HeardText heard;
  bool fits = record->fingerprint.size() == static_cast<std::size_t>(text_.width()) * sizeof(float);
  if (decoder_.has_prefix()) {
    const std::size_t row = static_cast<std::size_t>(decoder_.width()) * sizeof(float);
    fits = fits && record->cross.empty() && record->projected.size() == static_cast<std::size_t>(tokens) * row;
    heard.projected = floats(record->projected);
  } else {
    auto cross = decoder_.empty_condition(tokens, options_.kv);
    fits = fits && record->projected.empty() && record->cross.size() == cross->data().size();
    if (fits) std::memcpy(cross->data().data(), record->cross.data(), record->cross.size());
    heard.cross = std::move(cross);
  }
  if (!fits) {
    options_.store->reject(prompt);
    return std::nullopt;
  }
  heard.fingerprint = floats(record->fingerprint);
  return heard;
}

HeardText Conditioner::compute(std::span<const int> ids) {
  executor_.begin_pass();
  const compute::Tensor hidden = text_.encode(ids);  // [tokens, text width]
  std::vector<float> states(static_cast<std::size_t>(hidden.rows * hidden.columns));
  executor_.read(hidden, states);
  const compute::Tensor projected = decoder_.project_text(hidden);  // [tokens, d]
  HeardText heard;
  if (decoder_.has_prefix()) {
    std::vector<float> values(static_cast<std::size_t>(projected.rows * projected.columns));
    executor_.read(projected, values);
    heard.projected = std::make_shared<const std::vector<float>>(std::move(values));
  } else {
    heard.cross = decoder_.condition(projected, options_.kv);
  }
  const auto width = static_cast<std::size_t>(hidden.columns);
  std::vector<float> mean(width, 0.0F);
  for (std::size_t i = 0; i < states.size(); ++i) mean[i % width] += states[i] / static_cast<float>(hidden.rows);
  heard.fingerprint = std::make_shared<const std::vector<float>>(std::move(mean));
  return heard;
}

void Conditioner::remember(const std::string& prompt, HeardText heard) {
  const std::int64_t size = heard.bytes() + static_cast<std::int64_t>(prompt.size());
  if (size > options_.memory_bytes) return;
  kept_.push_front({prompt, std::move(heard)});
  by_prompt_[prompt] = kept_.begin();
  bytes_ += size;
  while (bytes_ > options_.memory_bytes) {
    const Kept& oldest = kept_.back();
    bytes_ -= oldest.heard.bytes() + static_cast<std::int64_t>(oldest.prompt.size());
    by_prompt_.erase(oldest.prompt);
    kept_.pop_back();
  }
}

}  // namespace continuo::engine
