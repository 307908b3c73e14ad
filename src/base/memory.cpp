#include "base/memory.h"

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include <fstream>
#include <sstream>
#include <string>

namespace continuo {

namespace {

/// A line such as "VmHWM:    1234 kB" of a /proc file, in bytes.
std::optional<std::int64_t> proc_bytes(const char* path, const std::string& key) {
  std::ifstream file(path);
  for (std::string line; std::getline(file, line);) {
    if (!line.starts_with(key + ":")) continue;
    std::istringstream rest(line.substr(key.size() + 1));
    std::int64_t kilobytes = 0;
    if (rest >> kilobytes) return kilobytes * 1024;
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::int64_t> peak_memory() { return proc_bytes("/proc/self/status", "VmHWM"); }

std::optional<std::int64_t> resident_memory() { return proc_bytes("/proc/self/status", "VmRSS"); }

std::optional<std::int64_t> available_memory() { return proc_bytes("/proc/meminfo", "MemAvailable"); }

void give_memory_back_early() {
#if defined(__GLIBC__)
  // Setting a threshold also ends its growing.
  ::mallopt(M_MMAP_THRESHOLD, 64 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 128 << 10);
  ::mallopt(M_ARENA_MAX, 2);
#endif
}

}  // namespace continuo
