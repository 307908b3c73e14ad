#include "base/philox.h"

namespace continuo {

PhiloxCounter philox(PhiloxCounter counter, PhiloxKey key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) {
      key[0] += 0x9E3779B9U;
      key[1] += 0xBB67AE85U;
    }
    const std::uint64_t a = std::uint64_t{0xD2511F53U} * counter[0];
    const std::uint64_t b = std::uint64_t{0xCD9E8D57U} * counter[2];
    counter = {static_cast<std::uint32_t>(b >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(b),
               static_cast<std::uint32_t>(a >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(a)};
  }
  return counter;
}

double uniform_draw(std::uint64_t seed, std::uint32_t take, std::uint32_t step, std::uint32_t codebook) {
  const PhiloxKey key{static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
  const PhiloxCounter words = philox({step, codebook, take, 0}, key);
  const std::uint64_t bits = (std::uint64_t{words[0]} << 21) ^ (words[1] >> 11);
  return static_cast<double>(bits) * 0x1.0p-53;
}

}  // namespace continuo
