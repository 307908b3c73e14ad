// What every request passes before its handler: the checks of Host and Origin, the preflight of browsers, the key, the rate; and
// what it leaves behind: a line in the log and its metrics. Everything is denied that is not a route, and every route needs a key
// (when there are any) unless it says that it is open.
#pragma once

#include <functional>

#include "server/hosts.h"
#include "server/http/gate.h"
#include "server/http/router.h"
#include "server/keys.h"
#include "server/log.h"
#include "server/options.h"
#include "server/rates.h"
#include "server/requests/api_error.h"

namespace continuo::server {

class Front final : public Gate {
 public:
  /// What the server wants to know of requests, for its metrics, and what it says of itself.
  struct Hooks {
    std::function<void(const std::string& route, int status, double seconds)> answered = {};
    std::function<void(int change)> connections = {};
    std::function<void(const std::string& reason)> rejected = {};
    /// Why this route has no answer for now; nothing: it has.
    std::function<std::optional<ApiError>(const Router::Route& route)> unready = {};
  };

  /// keys: null when none are needed. All must outlive the front.
  Front(const Router& router, const Hosts& hosts, const Keys* keys, const Limits& limits, Log& log, Hooks hooks);

  Admission admit(HttpRequest& head) override;
  HttpResponse error(int status, const std::string& message) const override;
  void note(const HttpRequest& request, const Router::Route* route, const Answered& answered) override;
  void connected(int change) override;

 private:
  const Router& router_;
  const Hosts& hosts_;
  const Keys* keys_;
  Limits limits_;
  Rates rates_;
  Log& log_;
  Hooks hooks_;
};

}  // namespace continuo::server
