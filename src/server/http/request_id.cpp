#include "server/http/request_id.h"

#include <openssl/rand.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <stdexcept>

namespace continuo::server {

std::string random_id() {
  constexpr std::string_view letters = "0123456789bcdfghjklmnpqrstvwxyz_";
  std::array<unsigned char, 26> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1)
    throw std::runtime_error("the system gives no random numbers");
  std::string id;
  for (const unsigned char byte : bytes) id += letters[byte & 31U];
  return id;
}

std::string request_id(std::string_view given) {
  const auto plain = [](char letter) {
    return (letter >= '0' && letter <= '9') || (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
           letter == '-' || letter == '_';
  };
  if (!given.empty() && given.size() <= 64 && std::all_of(given.begin(), given.end(), plain)) return std::string(given);
  return random_id();
}

}  // namespace continuo::server
