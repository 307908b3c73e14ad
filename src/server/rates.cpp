#include "server/rates.h"

#include <arpa/inet.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace continuo::server {

std::string rate_group(std::string_view client) {
  constexpr std::string_view mark = "ip:";
  const std::string address(client.substr(std::min(mark.size(), client.size())));
  in6_addr parsed{};
  if (!client.starts_with(mark) || inet_pton(AF_INET6, address.c_str(), &parsed) != 1) return std::string(client);
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (IN6_IS_ADDR_V4MAPPED(&parsed)) {
    inet_ntop(AF_INET, &parsed.s6_addr[12], text.data(), text.size());
    return std::string(mark) + text.data();
  }
  if (IN6_IS_ADDR_LOOPBACK(&parsed)) return std::string(client);
  std::memset(&parsed.s6_addr[8], 0, 8);
  inet_ntop(AF_INET6, &parsed, text.data(), text.size());
  return std::string(mark) + text.data() + "/64";
}

Rates::Rates(int per_minute, std::size_t most_clients)
    : per_second_(per_minute / 60.0), capacity_(per_minute), most_(std::max<std::size_t>(most_clients, 1)) {}

std::optional<double> Rates::retry_after(std::string_view client, Time now) {
  if (capacity_ <= 0.0) return std::nullopt;
  std::string group = rate_group(client);
  auto found = index_.find(group);
  if (found == index_.end()) {
    if (buckets_.size() >= most_) {
      index_.erase(buckets_.back().client);
      buckets_.pop_back();
    }
    buckets_.push_front({std::move(group), capacity_, now});
    found = index_.emplace(buckets_.front().client, buckets_.begin()).first;
  } else {
    buckets_.splice(buckets_.begin(), buckets_, found->second);
  }
  Bucket& bucket = *found->second;
  const double passed = std::max(std::chrono::duration<double>(now - bucket.at).count(), 0.0);
  bucket.tokens = std::min(capacity_, bucket.tokens + passed * per_second_);
  bucket.at = std::max(bucket.at, now);
  constexpr double rounding = 1e-9;  // who waits exactly as long as told is let in
  if (bucket.tokens < 1.0 - rounding) return (1.0 - bucket.tokens) / per_second_;
  bucket.tokens = std::max(bucket.tokens - 1.0, 0.0);
  return std::nullopt;
}

}  // namespace continuo::server
