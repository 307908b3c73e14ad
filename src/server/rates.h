// How often a client may ask: a bucket of tokens each, refilled evenly, that holds a minute's worth. A request takes one; with
// none left it is told how long until there is. Memory is bounded: of more clients than the table holds, the one that asked
// longest ago is forgotten. That gives nothing away, unless so many ask within a minute that they are no longer told apart.
//
// IPv6 addresses count by their /64, which is what one household or machine is given. I/O thread only.
#pragma once

#include <chrono>
#include <cstddef>
#include <list>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>

namespace continuo::server {

class Rates {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// per_minute 0: no limit.
  explicit Rates(int per_minute, std::size_t most_clients = 20'000);

  /// Takes a token of this client, if there is one; else seconds until there is. client: as in HttpRequest.
  std::optional<double> retry_after(std::string_view client, Time now);

  std::size_t clients() const { return buckets_.size(); }

 private:
  struct Bucket {
    std::string client;
    double tokens;
    Time at;
  };
  double per_second_;
  double capacity_;
  std::size_t most_;
  std::list<Bucket> buckets_;  // who asked last comes first
  std::unordered_map<std::string_view, std::list<Bucket>::iterator> index_;
};

/// The client whose bucket counts: "ip:2001:db8:1:2:3:4:5:6" is "ip:2001:db8:1:2::/64", an IPv4 address in IPv6's form the IPv4
/// address; everything else is itself.
std::string rate_group(std::string_view client);

}  // namespace continuo::server
