#include "server/jobs/ids.h"

#include <array>
#include <cstdint>
#include <cstdlib>

#if defined(__linux__)
#include <sys/random.h>
#else
#include <unistd.h>
#endif

namespace continuo::server {

std::string new_id(std::string_view prefix) {
  std::array<std::uint8_t, 16> bytes{};
  // As many bytes as these are never interrupted. A system without random numbers is none to go on with.
  if (getentropy(bytes.data(), bytes.size()) != 0) std::abort();
  constexpr std::string_view digits = "0123456789abcdefghjkmnpqrstvwxyz";
  std::string id(prefix);
  unsigned bits = 0;
  int count = 0;
  for (const std::uint8_t byte : bytes) {
    bits = bits << 8 | byte;
    count += 8;
    while (count >= 5) {
      count -= 5;
      id += digits[bits >> count & 31];
    }
  }
  id += digits[bits << (5 - count) & 31];
  return id;
}

}  // namespace continuo::server
