// Progress on standard error: a bar that redraws itself on a terminal, else a plain line every ten seconds.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>

#include "engine/engine.h"

namespace continuo::cli {

class ProgressDisplay {
 public:
  using Clock = std::chrono::steady_clock;

  /// terminal: whether `stream` redraws lines.
  ProgressDisplay(std::FILE* stream, bool terminal);
  ~ProgressDisplay();
  ProgressDisplay(const ProgressDisplay&) = delete;
  ProgressDisplay& operator=(const ProgressDisplay&) = delete;

  void show(const engine::Progress& progress);
  /// A share from 0 to 1 of some other work: "converting".
  void show(const std::string& what, double share);
  /// Removes the bar.
  void clear();

 private:
  bool due(Clock::time_point now) const;
  void print(const std::string& text);

  std::FILE* stream_;
  bool terminal_;
  bool drawn_ = false;
  Clock::time_point decoder_start_{};  // of the first report from the decoder
  Clock::time_point last_;
};

/// Standard error.
bool progress_on_terminal();

/// "[#####-----]  4.2 of 10.0 s, 1.8x real time, 3 s left"; speed 0: not known yet.
std::string progress_text(const engine::Progress& progress, double elapsed_seconds, bool bar);

}  // namespace continuo::cli
