// How much memory this process uses and the machine has left. Bytes; nullopt where the system does not say.
#pragma once

#include <cstdint>
#include <optional>

namespace continuo {

std::optional<std::int64_t> peak_memory();
std::optional<std::int64_t> resident_memory();
std::optional<std::int64_t> available_memory();

}  // namespace continuo
