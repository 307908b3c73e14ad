// One sequence of codes on its way through the decoder: which rows it has, what they hear and write at each step.
//
// A step s predicts one code of each codebook (music/delay_pattern.h). A piece of N frames takes N + largest delay steps. When it
// samples, its late codebooks hear in the last steps what they would hear if the piece went on, so that a longer piece begins
// with exactly the frames of a shorter one. A greedy run follows the reference instead, which tells them that the early ones have
// ended: it is what results are compared by.
//
// Pieces longer than the model's window are made in windows of `window_frames`, each beginning `overlap` frames before the end of
// the one before. A next window starts at a fixed frame and hears the codes from there on, in the same steps that still continue
// the present one: rows that ride along, so that changing over takes no time. Codes do not depend on the whole length.
#pragma once

#include <deque>
#include <memory>
#include <span>
#include <vector>

#include "compute/executor.h"
#include "engine/engine.h"
#include "music/decoder.h"

namespace continuo::engine {

/// What the decoder hears besides codes. Cross-attending models have `cross` (null: nothing, as the null row); melody models
/// have a prefix [positions, d] for each of their rows.
struct Conditioning {
  std::shared_ptr<const compute::CrossKv> cross;
  std::shared_ptr<const std::vector<float>> prefix;
  std::shared_ptr<const std::vector<float>> null_prefix;
  bool present = false;  // whether there is anything to guide toward
};

struct PieceSettings {
  std::uint64_t seed = 0;
  int take = 1;
  Sampling sampling;
  int frames = 0;  // endless: any number, never reached
  bool endless = false;
  bool two_rows = true;                    // the conditional and the null row; else the one of them that there is
  int prefix_rows = 0;                     // of a melody model's prefix
  std::vector<std::int64_t> prompt_codes;  // [codebooks, prompt_frames]
  int prompt_frames = 0;
};

class Piece {
 public:
  /// The configuration outlives the piece.
  Piece(PieceSettings settings, const weights::ModelConfig& config, Conditioning conditioning);

  int sequences() const { return settings_.two_rows ? 2 : 1; }
  /// Pages that it needs from beginning to end; also known before there is a conditioning.
  int pages() const;
  /// Reserves them; false if the pool has too few.
  bool reserve(compute::KvPool& pool);
  void release();

  bool done() const { return !settings_.endless && step_ >= last_step(); }
  int step() const { return step_; }
  /// Steps from now to the end; for an endless piece those of a window.
  int steps_left() const;
  /// Frames complete in every codebook.
  int complete_frames() const;
  int frames() const { return settings_.frames; }
  /// Codes [codebooks, count] of complete frames that have not been forgotten.
  std::vector<std::int64_t> codes(int first, int count) const;
  /// Frames before this one will not be asked for again; those that a window still needs are kept all the same.
  void forget_before(int frame);

  /// What is heard from the next step on. Not for melody models.
  void hear(Conditioning conditioning);
  void set_sampling(const Sampling& sampling) { settings_.sampling = sampling; }

  /// Rows of a melody model's prefix that still have to go in; they go in passes of their own, at most `slice` rows each.
  bool prefix_pending() const;
  void prefill_prefix(music::MusicDecoder& decoder, compute::Executor& executor, compute::KvPool& pool, int slice);

  /// Rows in the next pass, with at most `slice` steps of what only has to be heard (an audio prompt, codes for a next window).
  int rows(int slice) const;
  /// Appends these rows and the columns they hear.
  void add_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids, int slice);
  std::size_t rows_added() const { return static_cast<std::size_t>(pass_.rows); }
  /// Rows of the first `sequences` sequences at the next position, for measuring a step: what they leave behind is overwritten.
  void add_trial_rows(std::vector<compute::Row>& rows, std::vector<std::int32_t>& ids, int sequences);
  /// Takes the logits of the rows just added [rows, codebooks * codebook_size] (overwritten), draws the codes and moves on.
  Status advance(std::span<float> logits);

 private:
  struct Window {
    int first_frame = 0;
    int step = 0;         // the next that goes in
    int prefix_done = 0;  // rows of the prefix
    std::vector<compute::KvSequence> sequences;
  };
  struct Pass {
    int known = 0;  // steps of the present window that only write known codes
    int ahead = 0;  // steps of the next window
    int rows = 0;
  };
  Pass plan(int slice) const;
  int prefix_rows() const { return settings_.prefix_rows; }
  int overlap() const;
  int window_steps() const;
  int last_step() const;
  int open_frames() const;  // frames that codes are drawn for
  int next_window_frame() const { return window_.first_frame + config_.max_frames - overlap(); }
  bool rolls() const;  // whether there will be another window after the present one
  int pages_of_window() const;
  int pages_of_next() const;
  void roll();
  /// The code that window `first_frame` hears at `step` of codebook k.
  std::int32_t heard(int first_frame, int step, int k) const;
  std::int64_t& code(int frame, int k);
  std::int64_t code(int frame, int k) const;
  const Conditioning& heard_at(int step) const;
  Status draw(std::span<const float> logits);

  PieceSettings settings_;
  const weights::DecoderConfig& config_;
  int largest_delay_;
  bool reference_;  // follows the reference at the end; stays when the temperature changes, since what was not drawn is not there
  int step_ = 0;
  Window window_;
  Window next_;
  Pass pass_;
  // Codes by frame, [codebooks] each, from frame first_kept_ on.
  std::deque<std::vector<std::int64_t>> codes_;
  int first_kept_ = 0;
  struct Heard {
    int from_step;
    Conditioning conditioning;
  };
  std::vector<Heard> conditionings_;
};

}  // namespace continuo::engine
