#include "weights/random_values.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <cstring>
#include <span>

#include "base/half.h"
#include "base/philox.h"

namespace continuo::weights {

namespace {

/// xoshiro256** (Blackman and Vigna, 2018): about a nanosecond for two floats.
class Xoshiro {
 public:
  explicit Xoshiro(PhiloxKey key) {
    for (std::uint32_t i = 0; i < 4; ++i) {
      const PhiloxCounter words = philox({i, 0, 0, 0}, key);
      state_[i] = std::uint64_t{words[0]} << 32 | words[1] | (i == 0 ? 1U : 0U);  // not all zero
    }
  }
  std::uint64_t next() {
    const std::uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

void fill(Xoshiro& random, std::span<std::byte> bytes) {
  for (std::size_t i = 0; i < bytes.size(); i += sizeof(std::uint64_t)) {
    const std::uint64_t bits = random.next();
    std::memcpy(bytes.data() + i, &bits, std::min(sizeof(bits), bytes.size() - i));
  }
}

void put_half(std::byte* to, float value) {
  const std::uint16_t bits = float_to_half(value);
  std::memcpy(to, &bits, sizeof(bits));
}

// Each takes a block of random bytes and makes it one of mean 0 and that standard deviation.

void finish_q8_0(std::byte* block, float deviation, std::uint64_t /*sign*/) {
  put_half(block, deviation / std::sqrt(65024.0F / 12.0F));  // the variance of -127 to 127: (255^2 - 1) / 12
  for (int i = 2; i < 34; ++i) {
    if (block[i] == std::byte{0x80}) block[i] = std::byte{0};  // -128 does not occur; 0 keeps the mean at 0
  }
}

void finish_q4_0(std::byte* block, float deviation, std::uint64_t sign) {
  // -8 to 7 have a mean square of 21.5 but a mean of -0.5: scales of both signs, as real blocks have, even it out.
  const float scale = deviation / std::sqrt(21.5F);
  put_half(block, (sign & 1U) != 0 ? -scale : scale);
}

void finish_q4_k(std::byte* block, float deviation, std::uint64_t /*sign*/) {
  // Sub-block scales of 32 to 63 (top bit of the six set), and minimums equal to them so that one dmin centres them all:
  // value = d s (q - 7.5), with a mean square of (47.5^2 + 1023 / 12) (255 / 12).
  const float scale = half_to_float(float_to_half(deviation / std::sqrt(2341.5F * 21.25F)));
  put_half(block, scale);
  put_half(block + 2, 7.5F * scale);
  for (int j = 0; j < 4; ++j) {
    const unsigned low = std::to_integer<unsigned>(block[4 + j]) % 32 + 32,
                   high = std::to_integer<unsigned>(block[8 + j]) % 32 + 32;
    block[4 + j] = block[8 + j] = static_cast<std::byte>(low | high >> 4 << 6);  // quant_blocks.cpp has the packing
    block[12 + j] = static_cast<std::byte>((high & 15U) | (high & 15U) << 4);
  }
}

std::vector<std::byte> random_blocks(DType type, std::int64_t count, float deviation, Xoshiro& random) {
  const auto finish = type == DType::q8_0 ? finish_q8_0 : type == DType::q4_0 ? finish_q4_0 : finish_q4_k;
  const auto size = static_cast<std::size_t>(block_size(type).bytes);
  std::vector<std::byte> bytes(static_cast<std::size_t>(count) * size);
  fill(random, bytes);
  std::uint64_t signs = 0;
  for (std::size_t b = 0; b < static_cast<std::size_t>(count); ++b) {
    signs = b % 64 == 0 ? random.next() : signs >> 1;
    finish(bytes.data() + b * size, deviation, signs);
  }
  return bytes;
}

}  // namespace

std::uint64_t hash_of(std::string_view text) {
  std::uint64_t hash = 0xCBF29CE484222325U;
  for (const char c : text) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001B3U;
  return hash;
}

std::vector<std::byte> random_values(DType type, const Shape& shape, Spread spread, std::uint64_t seed) {
  Xoshiro random({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
  const auto count = static_cast<std::size_t>(shape.elements());
  const BlockSize block = block_size(type);
  if (block.elements > 1) {
    assert(spread.mean == 0.0F && tensor_bytes(type, shape));
    return random_blocks(type, shape.elements() / block.elements, spread.deviation, random);
  }
  const float step = spread.deviation * std::sqrt(3.0F) * 0x1p-31F;
  const auto value = [&](std::uint32_t bits) { return spread.mean + static_cast<float>(static_cast<std::int32_t>(bits)) * step; };
  std::vector<std::byte> bytes(count * static_cast<std::size_t>(block.bytes));
  for (std::size_t i = 0; i < count; i += 2) {
    const std::uint64_t bits = random.next();
    const std::array<float, 2> pair = {value(static_cast<std::uint32_t>(bits)), value(static_cast<std::uint32_t>(bits >> 32))};
    const std::size_t present = std::min<std::size_t>(2, count - i);
    if (type == DType::f32) {
      std::memcpy(bytes.data() + i * sizeof(float), pair.data(), present * sizeof(float));
      continue;
    }
    const auto narrow = type == DType::f16 ? float_to_half : float_to_bfloat;
    const std::array<std::uint16_t, 2> halves = {narrow(pair[0]), narrow(pair[1])};
    std::memcpy(bytes.data() + i * sizeof(std::uint16_t), halves.data(), present * sizeof(std::uint16_t));
  }
  return bytes;
}

}  // namespace continuo::weights
