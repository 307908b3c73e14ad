// Which handler answers a method and a path. Patterns are paths with captures, "/v1/jobs/{id}/audio.{ext}"; a capture stands for
// at least one character without a slash. Of several patterns that fit, the one added first answers. HEAD is answered by GET's.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "server/http/exchange.h"

namespace continuo::server {

struct RouteOptions {
  std::int64_t body_bytes = 0;  // most that its body may have; 0: the usual limit
  bool open = false;            // needs no key
  bool makes_music = false;     // counts for the rate of a client
};

class Router {
 public:
  using Handler = std::function<Task<void>(Exchange&)>;
  using Captures = std::map<std::string, std::string, std::less<>>;

  struct Route {
    std::string method;
    std::string pattern;
    Handler handler;
    RouteOptions options;
  };

  void add(std::string method, std::string pattern, Handler handler, RouteOptions options = {});

  struct Found {
    const Route* route = nullptr;  // null: none
    Captures captures;
    std::vector<std::string> allowed;  // methods of this path, when only the method does not fit
  };
  Found find(std::string_view method, std::string_view path) const;

  const std::vector<Route>& routes() const { return routes_; }

 private:
  std::vector<Route> routes_;
};

/// Whether a path has a pattern's form; its captures on success.
bool path_fits(std::string_view pattern, std::string_view path, Router::Captures& captures);

}  // namespace continuo::server
