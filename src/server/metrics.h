// Numbers for Prometheus, in its text format (docs/deploy.md lists them): what the server counts as it happens, and what it asks
// the engines and the system when somebody looks.
//
// Times are of monotonic clocks. No label takes what a client sends: values are the server's own words, and even of these only so
// many are told apart (the rest is "other"), so the number of series is bounded.
// Counting may be done on any thread; text() on one at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "engine/engine.h"

namespace continuo::server {

class Metrics {
 public:
  /// An engine as it is now.
  struct EngineNow {
    std::string model;
    engine::EngineStatus status;
    double frame_rate = 50.0;  // frames that make a second of sound
  };
  struct Now {
    std::vector<EngineNow> engines;
    std::int64_t log_lines_lost = 0;
  };

  static std::unique_ptr<Metrics> create(const std::string& version);
  virtual ~Metrics() = default;

  // Pieces of music.
  virtual void submitted(std::string_view family) = 0;
  virtual void started(double queue_seconds) = 0;
  virtual void first_audio(double seconds) = 0;  // from the request to the first sound that can be read
  /// seconds: from the request to the end. work_seconds: from its start, 0 if it had none. A factor is told of finished ones.
  virtual void ended(std::string_view reason, double seconds, double work_seconds, double audio_seconds) = 0;
  virtual void rejected(std::string_view reason) = 0;

  // HTTP.
  virtual void answered(std::string_view route, int status) = 0;  // status 0: cut before the head
  virtual void connections(int change) = 0;
  virtual void streams(int change) = 0;  // answers and WebSockets that send sound while it is made

  virtual std::string text(const Now& now) = 0;
  static constexpr const char* content_type = "text/plain; version=0.0.4; charset=utf-8";
};

/// What a route's pattern belongs to, for metrics: "/v1/jobs/{id}/audio.{ext}" is "jobs"; no route at all is "none".
std::string_view route_family(std::string_view pattern);

}  // namespace continuo::server
