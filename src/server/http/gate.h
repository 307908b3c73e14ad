// What a connection asks the server: whether a request may go on, before its body is read; to answer it; and to note that it was.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <variant>

#include "server/http/exchange.h"
#include "server/http/router.h"

namespace continuo::server {

struct Admission {
  const Router::Route* route = nullptr;  // null: `refusal` is the answer
  std::int64_t body_bytes = 0;           // most that the body may have
  HttpResponse refusal;
  Headers extra;  // for every answer to this request (CORS)
};

struct Answered {
  int status = 0;  // 0: cut before the head
  std::int64_t body_bytes = 0;
  double seconds = 0.0;
  bool cut = false;     // the answer did not come to its end
  std::string failure;  // what the handler threw, if it did
};

class Gate {
 public:
  virtual ~Gate() = default;
  /// All of head but the body is there; fills in its client and captures.
  virtual Admission admit(HttpRequest& head) = 0;
  /// The answer to a body that is too large, of a wrong form, or too slow.
  virtual HttpResponse error(int status, const std::string& message) const = 0;
  virtual void note(const HttpRequest& request, const Router::Route* route, const Answered& answered) = 0;
  virtual void connected(int change) = 0;  // +1, -1
};

}  // namespace continuo::server
