// Questions to the machine: where this program lies, how much memory is used and left, how fast memory can be read.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace continuo::cli {

/// Absolute path of the running program; empty if the system does not say.
std::string executable_path();

/// Bytes. nullopt where /proc does not say.
std::optional<std::int64_t> peak_memory();
std::optional<std::int64_t> resident_memory();
std::optional<std::int64_t> available_memory();

/// 10^9 bytes a second: the best of several streaming reads of 1 GB by that many threads. Uses 1 GB of memory while it runs.
double read_bandwidth(int threads);

}  // namespace continuo::cli
