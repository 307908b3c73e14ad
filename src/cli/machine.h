// Questions to the machine: where this program lies, how fast memory can be read.
#pragma once

#include <cstdint>
#include <string>

#include "base/memory.h"

namespace continuo::cli {

/// Absolute path of the running program; empty if the system does not say.
std::string executable_path();

/// 10^9 bytes a second: the best of several streaming reads of 1 GB by that many threads. Uses 1 GB of memory while it runs.
double read_bandwidth(int threads);

}  // namespace continuo::cli
