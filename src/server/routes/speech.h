// POST /v1/audio/speech, as OpenAI's clients use it.
#pragma once

#include "server/http/router.h"
#include "server/parts.h"
#include "server/routes/streamed.h"

namespace continuo::server {

class SpeechRoutes {
 public:
  explicit SpeechRoutes(const Parts& parts) : parts_(parts) {}
  void add_to(Router& router);

 private:
  Task<void> speech(Exchange& exchange);
  Task<void> send_events(Exchange& exchange, StreamedPiece& piece);

  const Parts& parts_;
};

}  // namespace continuo::server
