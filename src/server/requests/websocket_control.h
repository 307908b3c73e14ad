// The JSON messages of /v1/stream and /v1/live (docs/http.md has the protocol for people). One text message is one object with a
// "type"; sound goes the other way in binary messages that hold nothing but samples.
//
//   client                                                    server
//   start   a music request, and how the sound comes          ready    token, rate, channels, format, frames, seed, window
//   resume  token, offset                                     queued, started, progress, changed
//   change  prompt | scene, guidance_scale, temperature       done     bytes, seconds
//   ack     offset: bytes that were taken                     error    {"error": {...}}; the socket closes
//   cancel, ping                                              pong
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include "server/requests/music_request.h"
#include "server/requests/scenes.h"

namespace continuo::server {

/// Interleaved samples, little-endian.
enum class WireFormat { pcm16, f32 };

struct WireSound {
  WireFormat format = WireFormat::pcm16;
  std::optional<int> sample_rate;  // default: the model's
  std::optional<int> channels;     // default: the model's
  /// The most bytes sent and not yet acknowledged; 0: no acknowledgements, the connection alone holds back.
  std::int64_t window = 0;
};

struct StartMessage {
  JobSpec spec;  // family "stream" or "live", streamed; chunk seconds, an endless piece, the scene's prompt are in its request
  WireSound sound;
  std::optional<Scene> scene;
};
struct ResumeMessage {
  std::string token;
  std::int64_t offset = 0;  // bytes that the client has
};
struct ChangeMessage {
  engine::Change change;
  std::optional<Scene> scene;  // where the prompt came from
};
struct AckMessage {
  std::int64_t offset = 0;
};
struct CancelMessage {};
struct PingMessage {
  std::string id;  // comes back
};
using ControlMessage = std::variant<StartMessage, ResumeMessage, ChangeMessage, AckMessage, CancelMessage, PingMessage>;

enum class Channel { stream, live };

/// Largest text message that is read.
inline constexpr std::size_t max_control_bytes = 256 * 1024;

/// Channel::live makes endless pieces: no duration, segments, takes, continuation.
Parsed<ControlMessage> parse_control(std::string_view text, Channel channel, const RequestContext& context,
                                     const SceneTable& scenes);

// What the server says.
struct ReadyFacts {
  std::string token;
  std::string job;
  std::string model;
  WireFormat format = WireFormat::pcm16;
  int sample_rate = 0;
  int channels = 0;
  std::optional<std::int64_t> frames;  // of the whole; none of an endless one
  std::uint64_t seed = 0;
  std::int64_t offset = 0;  // where the sound goes on
  std::int64_t window = 0;
  std::string prompt;
  double resume_seconds = 0.0;
};
std::string ready_message(const ReadyFacts& facts);
std::string queued_message(int place, double eta_seconds);
std::string started_message(bool realtime);
std::string progress_message(double seconds, std::optional<double> total, double eta_seconds);
std::string changed_message(const std::string& prompt, std::optional<float> guidance, std::optional<float> temperature);
std::string done_message(std::int64_t bytes, double seconds);
std::string pong_message(const std::string& id);
std::string error_message(const ApiError& error);

std::string_view word_of(WireFormat format);
int bytes_of(WireFormat format);

}  // namespace continuo::server
