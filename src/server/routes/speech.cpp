#include "server/routes/speech.h"

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "server/media/following.h"
#include "server/requests/error_response.h"
#include "server/requests/speech.h"

namespace continuo::server {

namespace {

/// Both as an event's name and as a "type" inside, since some clients read the one and some the other.
std::string event(const std::string& type, nlohmann::json data) {
  data["type"] = type;
  return "event: " + type + "\ndata: " + data.dump() + "\n\n";
}

/// Tokens of the prompt, and steps of the decoder, which are what a piece costs.
nlohmann::json usage(const Parts& parts, const Job& job) {
  std::int64_t in = 0, out = 0;
  if (const engine::Engine* engine = parts.engine(job.spec().model)) {
    const auto ids = engine->tokenize(job.spec().request.prompt);
    in = ids ? static_cast<std::int64_t>(ids->size()) : 0;
    out = engine::frame_count(engine::request_seconds(job.spec().request), engine->config());
  }
  return {{"input_tokens", in}, {"output_tokens", out}, {"total_tokens", in + out}};
}

}  // namespace

void SpeechRoutes::add_to(Router& router) {
  RouteOptions options;
  options.makes_music = true;
  router.add(
      "POST", "/v1/audio/speech", [this](Exchange& exchange) { return speech(exchange); }, options);
}

Task<void> SpeechRoutes::speech(Exchange& exchange) {
  if (const auto wrong = wrong_media_type(exchange.request())) {
    HttpResponse answer = error_response(*wrong);
    co_await exchange.send(std::move(answer));
    co_return;
  }
  auto request = parse_speech(exchange.request().body, parts_.context(exchange.request().client));
  if (!request) {
    HttpResponse answer = error_response(request.error());
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const bool events = request->events;
  auto piece = co_await start_streamed(parts_, exchange, std::move(request->spec));
  if (!piece) co_return;
  if (events) {
    co_await send_events(exchange, *piece);
  } else {
    co_await stream_body(parts_, exchange, *piece);
  }
}

Task<void> SpeechRoutes::send_events(Exchange& exchange, StreamedPiece& piece) {
  const StreamCount counted(parts_);
  const auto io = co_await boost::asio::this_coro::executor;
  Headers headers = piece_headers(*piece.job.job());
  headers.emplace_back("Content-Type", "text/event-stream");
  headers.emplace_back("X-Accel-Buffering", "no");  // a proxy must not collect them
  Wake wake(io);
  exchange.watch(wake);
  const Following following(piece.rendition, wake, io);
  bool there = co_await exchange.begin(200, std::move(headers), std::nullopt);
  std::int64_t offset = 0;
  while (there) {
    const std::string bytes = co_await next_bytes(parts_, piece.rendition, offset, stream_piece_bytes, wake, exchange);
    if (bytes.empty()) break;
    offset += static_cast<std::int64_t>(bytes.size());
    std::string text = event("speech.audio.delta", {{"audio", base64(bytes)}});
    there = co_await exchange.write(std::move(text));
  }
  if (!there) co_return;
  std::string last;
  if (offset == piece.rendition->whole_size()) {
    last = event("speech.audio.done", {{"usage", usage(parts_, *piece.job.job())}});
    co_await until_ended(piece.job.job(), exchange);
    piece.job.keep();
  } else {
    last = event("speech.audio.error", nlohmann::json::parse(error_body(job_error(*piece.job.job()))));
  }
  co_await exchange.write(std::move(last));
  co_await exchange.end();
}

}  // namespace continuo::server
