#include "compute/cpu/profile.h"

#include <fmt/core.h>

#include <cstring>

namespace continuo::compute::cpu {

OperatorTime& Profile::entry(const char* kind, std::int64_t in, std::int64_t out, bool linear) {
  for (std::size_t i = 0; i < keys_.size(); ++i) {
    const Key& key = keys_[i];
    if (key.in == in && key.out == out && std::strcmp(key.kind, kind) == 0) return entries_[i];
  }
  keys_.push_back({kind, in, out});
  entries_.push_back({in == 0 ? std::string(kind) : fmt::format("{} {} to {}", kind, in, out), linear, 0, 0.0, 0, 0});
  return entries_.back();
}

std::vector<OperatorTime> Profile::take() {
  std::vector<OperatorTime> taken;
  for (OperatorTime& entry : entries_) {
    if (entry.calls > 0) taken.push_back(entry);
    entry = {entry.name, entry.linear, 0, 0.0, 0, 0};
  }
  return taken;
}

}  // namespace continuo::compute::cpu
