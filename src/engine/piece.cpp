#include "engine/piece.h"

#include <algorithm>
#include <cassert>

#include "base/philox.h"
#include "music/sampling.h"

namespace continuo::engine {

Piece::Piece(PieceSettings settings, const weights::ModelConfig& config, Conditioning conditioning)
    : settings_(std::move(settings)),
      config_(config.decoder),
      largest_delay_(*std::max_element(config.decoder.delays.begin(), config.decoder.delays.end())),
      reference_(settings_.sampling.strategy == Strategy::greedy || settings_.sampling.temperature == 0.0F) {
  conditionings_.push_back({0, std::move(conditioning)});
  // A long audio prompt is heard from as far back as a next window would hear it.
  if (settings_.prompt_frames >= config_.max_frames) window_.first_frame = settings_.prompt_frames - overlap();
  // Heard by the codec it is from its beginning.
  step_ = window_.step = window_.first_frame;
  for (int frame = 0; frame < settings_.prompt_frames; ++frame) {
    for (int k = 0; k < config_.codebooks; ++k) {
      code(frame, k) = settings_.prompt_codes[static_cast<std::size_t>(k) * static_cast<std::size_t>(settings_.prompt_frames) +
                                              static_cast<std::size_t>(frame)];
    }
  }
  settings_.prompt_codes.clear();
}

int Piece::overlap() const { return config_.max_frames * 2 / 5; }  // audiocraft's 12 of 30 s
int Piece::window_steps() const { return config_.max_frames + largest_delay_; }
int Piece::last_step() const { return settings_.frames + largest_delay_; }
int Piece::open_frames() const { return reference_ ? settings_.frames : settings_.frames + largest_delay_; }

bool Piece::rolls() const { return settings_.endless || last_step() > window_.first_frame + window_steps(); }

int Piece::pages_of_window() const {
  const int steps = rolls() ? window_steps() : last_step() - window_.first_frame;
  return compute::KvPool::pages_for(prefix_rows() + steps);
}

int Piece::pages_of_next() const { return rolls() ? compute::KvPool::pages_for(prefix_rows() + overlap() + largest_delay_) : 0; }

int Piece::pages() const { return sequences() * (pages_of_window() + pages_of_next()); }

bool Piece::reserve(compute::KvPool& pool) {
  for (int r = 0; r < sequences(); ++r) {
    auto present = pool.reserve(pages_of_window() * compute::page_positions);
    if (present) window_.sequences.push_back(std::move(*present));
    auto next = present && rolls() ? pool.reserve(pages_of_next() * compute::page_positions) : std::nullopt;
    if (next) next_.sequences.push_back(std::move(*next));
    if (!present || (rolls() && !next)) {
      release();
      return false;
    }
  }
  if (rolls()) next_ = {next_window_frame(), next_window_frame(), 0, std::move(next_.sequences)};
  return true;
}

void Piece::release() {
  window_.sequences.clear();
  next_.sequences.clear();
}

int Piece::steps_left() const { return settings_.endless ? window_steps() : std::max(0, last_step() - step_); }

int Piece::complete_frames() const {
  const int complete = std::max(0, step_ - largest_delay_);
  return settings_.endless ? complete : std::min(complete, settings_.frames);
}

std::vector<std::int64_t> Piece::codes(int first, int count) const {
  std::vector<std::int64_t> out;
  for (int k = 0; k < config_.codebooks; ++k) {
    for (int frame = first; frame < first + count; ++frame) out.push_back(code(frame, k));
  }
  return out;
}

void Piece::forget_before(int frame) {
  const int needed = std::min({frame, window_.first_frame, step_ - 2 * largest_delay_});
  while (first_kept_ < needed && !codes_.empty()) {
    codes_.pop_front();
    ++first_kept_;
  }
}

void Piece::hear(Conditioning conditioning) {
  if (conditionings_.back().from_step == step_) conditionings_.pop_back();
  conditionings_.push_back({step_, std::move(conditioning)});
  // What no window can hear any more.
  const int earliest = std::min(window_.step, next_.sequences.empty() ? step_ : next_.step);
  while (conditionings_.size() > 1 && conditionings_[1].from_step <= earliest) conditionings_.erase(conditionings_.begin());
}

const Conditioning& Piece::heard_at(int step) const {
  std::size_t last = 0;
  for (std::size_t i = 1; i < conditionings_.size() && conditionings_[i].from_step <= step; ++i) last = i;
  return conditionings_[last].conditioning;
}

bool Piece::prefix_pending() const {
  if (window_.prefix_done < prefix_rows()) return true;
  return !next_.sequences.empty() && step_ >= next_.first_frame && next_.prefix_done < prefix_rows();
}

void Piece::prefill_prefix(music::MusicDecoder& decoder, compute::Executor& executor, compute::KvPool& pool, int slice) {
  Window& window = window_.prefix_done < prefix_rows() ? window_ : next_;
  const auto width = static_cast<std::size_t>(config_.width);
  const int begin = window.prefix_done, end = std::min(prefix_rows(), begin + slice);
  for (std::size_t r = 0; r < window.sequences.size(); ++r) {
    const Conditioning& conditioning = conditionings_.front().conditioning;
    const std::vector<float>& prefix = conditioning.present && r == 0 ? *conditioning.prefix : *conditioning.null_prefix;
    std::vector<compute::Row> rows;
    for (int position = begin; position < end; ++position) rows.push_back({&window.sequences[r], position, nullptr});
    executor.begin_pass();
    decoder.prefill(
        rows, std::span(prefix).subspan(static_cast<std::size_t>(begin) * width, static_cast<std::size_t>(end - begin) * width),
        pool);
  }
  window.prefix_done = end;
}

Piece::Pass Piece::plan(int slice) const {
  Pass pass;
  // Step s writes frame s of the first codebook, so the steps before the prompt's end write nothing that is not known. A window
  // that was left behind when it took over has to hear what was drawn before it.
  pass.known = std::clamp(std::max(settings_.prompt_frames, step_) - window_.step, 0, slice);
  const int present = std::max(pass.known, 1);
  if (!next_.sequences.empty() && next_.prefix_done == prefix_rows()) {
    // The next window may hear every column that the present one has heard when this pass is done.
    pass.ahead = std::clamp(window_.step + present - next_.step, 0, std::max(slice, 2));
  }
  pass.rows = sequences() * (present + pass.ahead);
  return pass;
}

int Piece::rows(int slice) const { return plan(slice).rows; }

void Piece::add_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids, int slice) {
  pass_ = plan(slice);
  const auto add = [&](Window& window, int steps) {
    for (std::size_t r = 0; r < window.sequences.size(); ++r) {
      for (int step = window.step; step < window.step + steps; ++step) {
        // The null row hears nothing: its cross-attention is zero. A single row is the conditional one, if there is a condition.
        const compute::CrossKv* cross = r == 0 ? heard_at(step).cross.get() : nullptr;
        rows.push_back({&window.sequences[r], prefix_rows() + step - window.first_frame, cross});
        for (int k = 0; k < config_.codebooks; ++k) ids.push_back(heard(window.first_frame, step, k));
      }
    }
  };
  add(window_, std::max(pass_.known, 1));
  if (pass_.ahead > 0) add(next_, pass_.ahead);
}

void Piece::add_trial_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids, int sequences) {
  for (int r = 0; r < sequences; ++r) {
    rows.push_back(
        {&window_.sequences[static_cast<std::size_t>(r)], prefix_rows() + window_.step - window_.first_frame, nullptr});
    ids.insert(ids.end(), static_cast<std::size_t>(config_.codebooks), config_.special_id);
  }
}

Status Piece::advance(std::span<float> logits) {
  const std::size_t row = static_cast<std::size_t>(config_.codebook_size) * static_cast<std::size_t>(config_.codebooks);
  assert(logits.size() == static_cast<std::size_t>(pass_.rows) * row);
  if (pass_.known == 0) {
    if (sequences() == 2) music::apply_guidance(logits.first(row), logits.subspan(row, row), settings_.sampling.guidance);
    CONTINUO_CHECK(draw(logits.first(row)));
  }
  window_.step += std::max(pass_.known, 1);
  step_ = std::max(step_, window_.step);
  next_.step += pass_.ahead;
  if (step_ == window_.first_frame + window_steps() && !done()) roll();
  return {};
}

void Piece::roll() {
  std::swap(window_, next_);
  for (std::size_t r = 0; r < window_.sequences.size(); ++r) {
    compute::KvSequence& present = window_.sequences[r];
    const int wanted = pages_of_window();
    present.take(next_.sequences[r], wanted - present.page_count());
  }
  if (rolls()) {
    next_ = {next_window_frame(), next_window_frame(), 0, std::move(next_.sequences)};
  } else {
    next_.sequences.clear();
  }
}

std::int32_t Piece::heard(int first_frame, int step, int k) const {
  const int frame = step - 1 - config_.delays[static_cast<std::size_t>(k)];
  if (frame < first_frame || (!settings_.endless && frame >= open_frames())) return config_.special_id;
  return static_cast<std::int32_t>(code(frame, k));
}

std::int64_t& Piece::code(int frame, int k) {
  while (frame - first_kept_ >= static_cast<int>(codes_.size())) {
    codes_.emplace_back(static_cast<std::size_t>(config_.codebooks), 0);
  }
  return codes_[static_cast<std::size_t>(frame - first_kept_)][static_cast<std::size_t>(k)];
}

std::int64_t Piece::code(int frame, int k) const {
  return codes_[static_cast<std::size_t>(frame - first_kept_)][static_cast<std::size_t>(k)];
}

Status Piece::draw(std::span<const float> logits) {
  const auto entries = static_cast<std::size_t>(config_.codebook_size);
  const Sampling& sampling = settings_.sampling;
  const music::SamplingParams params{sampling.strategy == Strategy::greedy, sampling.temperature, sampling.top_k, sampling.top_p};
  for (int k = 0; k < config_.codebooks; ++k) {
    const int frame = step_ - config_.delays[static_cast<std::size_t>(k)];
    // None, or one that the audio prompt fixed, or one after the end.
    if (frame < settings_.prompt_frames || frame < 0 || (!settings_.endless && frame >= open_frames())) continue;
    const double uniform = uniform_draw(settings_.seed, static_cast<std::uint32_t>(settings_.take),
                                        static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(k));
    const auto drawn = music::sample(logits.subspan(static_cast<std::size_t>(k) * entries, entries), params, uniform);
    if (!drawn) {
      return fail(ErrorCode::corrupt_file, "the model produced numbers that are not finite at step {}; its weights are damaged",
                  step_);
    }
    code(frame, k) = *drawn;
  }
  return {};
}

}  // namespace continuo::engine
