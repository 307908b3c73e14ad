#include "server/routes/refusal.h"

#include "server/requests/error_response.h"

namespace continuo::server {

ApiError api_error_of(const Refusal& refusal) {
  ApiError error;
  error.message = refusal.message;
  error.code = refusal.reason;
  switch (refusal.kind) {
    case Refusal::Kind::invalid: error.status = 422; break;
    case Refusal::Kind::queue_full: error.status = 429; break;
    case Refusal::Kind::stopping:
    case Refusal::Kind::unavailable: error.status = 503; break;
  }
  return error;
}

HttpResponse refusal_response(const Refusal& refusal) {
  return error_response(api_error_of(refusal), refusal.retry_after_seconds);
}

}  // namespace continuo::server
