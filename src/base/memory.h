// How much memory this process uses and the machine has left. Bytes; nullopt where the system does not say.
#pragma once

#include <cstdint>
#include <optional>

namespace continuo {

std::optional<std::int64_t> peak_memory();
std::optional<std::int64_t> resident_memory();
std::optional<std::int64_t> available_memory();

/// Tells the allocator to give large pieces of memory back when they are freed, for processes that run for days. Sound is
/// allocated on one thread and freed on others, in all sizes; glibc's own way, which learns to keep ever larger pieces, lets the
/// process grow to twice what it uses (src/engine/day_test.cpp measures it). Process-wide: once, at the start of a program.
void give_memory_back_early();

}  // namespace continuo
