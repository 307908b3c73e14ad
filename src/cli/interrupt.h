// Ctrl-C and SIGTERM. The first one asks the work to stop: whoever works calls interrupted() between its steps and returns
// ErrorCode::cancelled. The second one ends the process at once. No temporary file exists while a model computes (see
// outputs.h), so neither leaves anything half-written.
#pragma once

namespace continuo::cli {

void install_interrupt_handlers();
bool interrupted();

}  // namespace continuo::cli
