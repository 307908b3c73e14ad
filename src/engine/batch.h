// One batch of requests on the way through the decoder: which rows each has, what it hears and writes at each step.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "compute/executor.h"
#include "engine/engine.h"
#include "music/decoder.h"
#include "music/delay_pattern.h"

namespace continuo::engine {

/// What the decoder hears besides codes. Cross-attending models have `cross` (null: nothing, as the null row); melody models
/// have a prefix [positions, d] for each of their rows.
struct Conditioning {
  const compute::CrossKv* cross = nullptr;
  std::vector<float> prefix;
  std::vector<float> null_prefix;
  bool present = false;  // whether there is anything to guide toward
};

/// One request in the decoder. With guidance it has two rows, the conditional one first; a request with neither prompt nor melody
/// has the null row alone.
class Job {
 public:
  /// The request and the conditioning's cross live longer than the job.
  Job(const Request& request, const weights::ModelConfig& config, Conditioning conditioning);

  /// Rows of a step: sequences in the decoder.
  int rows() const { return conditioning_.present && request_.guidance != 1.0F ? 2 : 1; }
  int steps() const { return pattern_.steps(); }
  /// Positions that each row needs: a prefix and the steps.
  int positions() const { return prefix_rows() + pattern_.steps(); }
  bool done() const { return step_ == pattern_.steps(); }
  int frames() const { return pattern_.frames(); }
  int complete_frames() const { return pattern_.complete_frames(step_); }
  /// [codebooks, frames]; complete once done().
  const std::vector<std::int64_t>& codes() const { return codes_; }

  /// Reserves pages for all positions; false if the pool has too few.
  bool reserve(compute::KvPool& pool);
  /// Gives the pages back.
  void release() { sequences_.clear(); }

  /// Fills the prefixes of a melody model into the pool.
  void prefill_prefix(music::MusicDecoder& decoder, compute::Executor& executor, compute::KvPool& pool);
  /// Steps the next pass takes: one, or a slice of those that only hear codes which are known already.
  int steps_now() const;
  /// Appends this job's rows of the next pass and the columns they hear: rows() * steps_now(), a sequence's steps together.
  void add_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids);
  /// Takes the logits of those rows [rows, codebooks * codebook_size] (overwritten), draws the codes and moves on.
  Status advance(std::span<float> logits);

 private:
  int prefix_rows() const { return static_cast<int>(conditioning_.null_prefix.size()) / config_.width; }
  /// Draws the codes of step_ from its guided logits.
  Status draw(std::span<const float> logits);

  const Request& request_;
  const weights::DecoderConfig& config_;
  Conditioning conditioning_;
  music::DelayPattern pattern_;
  int step_ = 0;
  std::vector<std::int64_t> codes_;
  std::vector<compute::KvSequence> sequences_;
};

}  // namespace continuo::engine
