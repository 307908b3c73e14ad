#include "engine/batch.h"

#include <algorithm>

#include "base/philox.h"
#include "music/sampling.h"

namespace continuo::engine {

namespace {
constexpr int prefill_slice = 64;  // steps of an audio prompt that a pass takes: enough to fill the kernels' tiles
}

Job::Job(const Request& request, const weights::ModelConfig& config, Conditioning conditioning)
    : request_(request),
      config_(config.decoder),
      conditioning_(std::move(conditioning)),
      pattern_(config.decoder.delays, frame_count(request.seconds, config)),
      codes_(static_cast<std::size_t>(config.decoder.codebooks) * static_cast<std::size_t>(pattern_.frames()), 0) {
  for (int k = 0; k < config_.codebooks; ++k) {
    std::copy_n(request.prompt_codes.begin() + static_cast<std::ptrdiff_t>(k) * request.prompt_frames, request.prompt_frames,
                codes_.begin() + static_cast<std::ptrdiff_t>(k) * pattern_.frames());
  }
}

bool Job::reserve(compute::KvPool& pool) {
  for (int r = 0; r < rows(); ++r) {
    auto sequence = pool.reserve(positions());
    if (!sequence) {
      sequences_.clear();
      return false;
    }
    sequences_.push_back(std::move(*sequence));
  }
  return true;
}

void Job::prefill_prefix(music::MusicDecoder& decoder, compute::Executor& executor, compute::KvPool& pool) {
  const auto width = static_cast<std::size_t>(config_.width);
  for (std::size_t r = 0; r < sequences_.size(); ++r) {
    const std::span<const float> prefix = conditioning_.present && r == 0 ? conditioning_.prefix : conditioning_.null_prefix;
    for (int begin = 0; begin < prefix_rows(); begin += prefill_slice) {
      const int end = std::min(prefix_rows(), begin + prefill_slice);
      std::vector<compute::Row> rows;
      for (int position = begin; position < end; ++position) rows.push_back({&sequences_[r], position, nullptr});
      executor.begin_pass();
      decoder.prefill(
          rows, prefix.subspan(static_cast<std::size_t>(begin) * width, static_cast<std::size_t>(end - begin) * width), pool);
    }
  }
}

int Job::steps_now() const {
  // Step s writes frame s of the first codebook, so the first prompt_frames steps write nothing that is not known.
  return std::clamp(request_.prompt_frames - step_, 1, prefill_slice);
}

void Job::add_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids) {
  for (std::size_t r = 0; r < sequences_.size(); ++r) {
    for (int step = step_; step < step_ + steps_now(); ++step) {
      // The null row hears nothing: its cross-attention is zero.
      rows.push_back({&sequences_[r], prefix_rows() + step, r == 0 ? conditioning_.cross : nullptr});
      for (int k = 0; k < config_.codebooks; ++k) {
        const int frame = pattern_.frame_heard(step, k);
        ids.push_back(frame < 0 ? config_.special_id
                                : static_cast<std::int32_t>(codes_[static_cast<std::size_t>(k * pattern_.frames() + frame)]));
      }
    }
  }
}

Status Job::advance(std::span<float> logits) {
  const std::size_t row = static_cast<std::size_t>(config_.codebook_size) * static_cast<std::size_t>(config_.codebooks);
  const int steps = steps_now();
  if (step_ < request_.prompt_frames) {  // the slice wrote known codes only; its keys and values are all that was wanted
    step_ += steps;
    return {};
  }
  if (rows() == 2) music::apply_guidance(logits.first(row), logits.subspan(row, row), request_.guidance);
  CONTINUO_CHECK(draw(logits.first(row)));
  ++step_;
  return {};
}

Status Job::draw(std::span<const float> logits) {
  const auto entries = static_cast<std::size_t>(config_.codebook_size);
  const music::SamplingParams params{request_.strategy == Strategy::greedy, request_.temperature, request_.top_k, request_.top_p};
  for (int k = 0; k < config_.codebooks; ++k) {
    const int frame = pattern_.frame_written(step_, k);
    if (frame < request_.prompt_frames) continue;  // none, or one that the audio prompt fixed
    const double uniform = uniform_draw(request_.seed, static_cast<std::uint32_t>(request_.take),
                                        static_cast<std::uint32_t>(step_), static_cast<std::uint32_t>(k));
    const auto code = music::sample(logits.subspan(static_cast<std::size_t>(k) * entries, entries), params, uniform);
    if (!code) {
      return fail(ErrorCode::corrupt_file, "the model produced numbers that are not finite at step {}; its weights are damaged",
                  step_);
    }
    codes_[static_cast<std::size_t>(k * pattern_.frames() + frame)] = *code;
  }
  return {};
}

}  // namespace continuo::engine
