#include "server/http/router.h"

#include <algorithm>

namespace continuo::server {

bool path_fits(std::string_view pattern, std::string_view path, Router::Captures& captures) {
  while (!pattern.empty()) {
    const std::size_t open = pattern.find('{');
    const std::string_view plain = pattern.substr(0, open);
    if (!path.starts_with(plain)) return false;
    path.remove_prefix(plain.size());
    if (open == std::string_view::npos) return path.empty();
    const std::size_t close = pattern.find('}', open);
    const std::string_view name = pattern.substr(open + 1, close - open - 1);
    pattern.remove_prefix(close + 1);
    // Up to the character that follows in the pattern, or the end of the segment.
    const std::size_t end = pattern.empty() ? path.find('/') : path.find_first_of(std::string{'/', pattern.front()});
    const std::string_view value = path.substr(0, end);
    if (value.empty()) return false;
    captures.insert_or_assign(std::string(name), std::string(value));
    path.remove_prefix(value.size());
  }
  return path.empty();
}

void Router::add(std::string method, std::string pattern, Handler handler, RouteOptions options) {
  routes_.push_back({std::move(method), std::move(pattern), std::move(handler), options});
}

Router::Found Router::find(std::string_view method, std::string_view path) const {
  Found found;
  for (const Route& route : routes_) {
    Captures captures;
    if (!path_fits(route.pattern, path, captures)) continue;
    if (route.method == method || (method == "HEAD" && route.method == "GET")) {
      return Found{&route, std::move(captures), {}};
    }
    if (std::find(found.allowed.begin(), found.allowed.end(), route.method) == found.allowed.end()) {
      found.allowed.push_back(route.method);
      if (route.method == "GET") found.allowed.emplace_back("HEAD");
    }
  }
  return found;
}

}  // namespace continuo::server
