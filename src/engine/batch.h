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

/// One request in the decoder. With guidance it has two rows, the conditional one first; an empty prompt has the null row alone.
class Job {
 public:
  /// conditioning: null for an empty prompt. Lives longer than the job.
  Job(const Request& request, const weights::ModelConfig& config, const compute::CrossKv* conditioning);

  /// Rows of a step: sequences in the decoder.
  int rows() const { return conditional_ && guided_ ? 2 : 1; }
  /// Steps, and so positions of each row.
  int steps() const { return pattern_.steps(); }
  bool done() const { return step_ == pattern_.steps(); }
  int frames() const { return pattern_.frames(); }
  int complete_frames() const { return pattern_.complete_frames(step_); }
  /// [codebooks, frames]; complete once done().
  const std::vector<std::int64_t>& codes() const { return codes_; }

  /// Reserves pages for all steps; false if the pool has too few.
  bool reserve(compute::KvPool& pool);
  /// Gives the pages back.
  void release() { sequences_.clear(); }

  /// Steps the next pass takes: one, or a slice of those that only hear codes which are known already.
  int steps_now() const;
  /// Appends this job's rows of the next pass and the columns they hear: rows() * steps_now(), a sequence's steps together.
  void add_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids);
  /// Takes the logits of those rows [rows, codebooks * codebook_size] (overwritten), draws the codes and moves on.
  Status advance(std::span<float> logits);

 private:
  /// Draws the codes of step_ from its guided logits.
  Status draw(std::span<const float> logits);


  const Request& request_;
  const weights::DecoderConfig& config_;
  const compute::CrossKv* conditional_;
  bool guided_;
  music::DelayPattern pattern_;
  int step_ = 0;
  std::vector<std::int64_t> codes_;
  std::vector<compute::KvSequence> sequences_;
};

}  // namespace continuo::engine
