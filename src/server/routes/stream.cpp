#include "server/routes/stream.h"

#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "server/http/request_id.h"
#include "server/media/following.h"
#include "server/requests/error_response.h"
#include "server/routes/refusal.h"
#include "server/routes/streamed.h"
#include "server/routes/wire_sound.h"

namespace continuo::server {

namespace {

constexpr auto long_enough = std::chrono::hours(1);  // wakes come from elsewhere

}  // namespace

struct StreamRoutes::Piece {
  std::string token;
  std::string client;
  std::shared_ptr<Job> job;
  WireSound sound;
  std::shared_ptr<Rendition> rendition;  // null until the piece began
  std::int64_t header = 0;               // bytes of the rendition that are no samples
  std::int64_t sent = 0, acknowledged = 0;
  std::weak_ptr<SocketLink> listener;
  std::int64_t turn = 0;  // counts listeners, so that a timer knows whether there was another

  bool ended() const { return job->state() != JobState::queued && job->state() != JobState::running; }
};

void StreamRoutes::add_to(Router& router) {
  RouteOptions options;
  options.makes_music = true;
  router.add(
      "GET", "/v1/stream", [this](Exchange& exchange) { return stream(exchange); }, options);
}

Task<void> StreamRoutes::stream(Exchange& exchange) {
  if (!exchange.wants_websocket()) {
    HttpResponse answer = error_response({426, "this address speaks WebSocket; docs/http.md shows how", {}, "upgrade_required"});
    answer.headers.emplace_back("Upgrade", "websocket");
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const auto io = co_await boost::asio::this_coro::executor;
  std::string protocol;
  auto socket = co_await exchange.accept_websocket(std::move(protocol));
  if (socket == nullptr) co_return;
  const auto link = std::make_shared<SocketLink>(std::move(socket), Channel::stream, parts_.context(exchange.request().client),
                                                 parts_.scenes, io);
  link->start();
  auto piece = co_await begin(*link, exchange.request());
  if (piece != nullptr) co_await play(link, piece);
  link->cut();
}

Task<std::shared_ptr<StreamRoutes::Piece>> StreamRoutes::begin(SocketLink& link, const HttpRequest& request) {
  auto message = co_await link.first();
  std::optional<ApiError> error;
  if (auto* refused = std::get_if<ApiError>(&message)) {
    error = std::move(*refused);
  } else if (auto* start = std::get_if<StartMessage>(&message)) {
    co_return co_await submit(link, std::move(*start));
  } else if (const auto* resume = std::get_if<ResumeMessage>(&message)) {
    const auto found = pieces_.find(resume->token);
    // Somebody else's token is as good as none.
    if (found == pieces_.end() || found->second->client != request.client) {
      error =
          ApiError{404, "there is no stream of this token; it ended, or nobody came back for it in time", "token", "not_found"};
    } else if (resume->offset > found->second->sent) {
      error = ApiError{422, "the offset is beyond what was sent", "offset", "out_of_range"};
    } else {
      const auto piece = found->second;
      if (const auto before = piece->listener.lock()) before->cut();  // the connection that we have not missed yet
      piece->sent = piece->acknowledged = resume->offset;
      co_return piece;
    }
  }
  co_await link.fail(std::move(*error));
  co_return nullptr;
}

Task<std::shared_ptr<StreamRoutes::Piece>> StreamRoutes::submit(SocketLink& link, StartMessage message) {
  JobSpec spec = std::move(message.spec);
  spec.streamed = true;
  spec.output = wire_format(message.sound);
  const std::string client = spec.client;
  auto submitted = co_await parts_.jobs.submit(std::move(spec));
  if (!submitted) {
    ApiError error = api_error_of(submitted.error());
    co_await link.fail(std::move(error));
    co_return nullptr;
  }
  auto piece = std::make_shared<Piece>();
  piece->token = random_id();
  piece->client = client;
  piece->job = std::move(*submitted);
  piece->sound = message.sound;
  pieces_[piece->token] = piece;
  co_return piece;
}

Task<bool> StreamRoutes::hear(SocketLink& link, Piece& piece, bool& paused) {
  while (auto message = link.take()) {
    std::optional<ApiError> error;
    if (auto* refused = std::get_if<ApiError>(&*message)) {
      error = std::move(*refused);
    } else {
      auto& control = std::get<ControlMessage>(*message);
      if (const auto* ack = std::get_if<AckMessage>(&control)) {
        if (ack->offset > piece.sent) {
          error = ApiError{422, "the offset is beyond what was sent", "offset", "out_of_range"};
        } else {
          piece.acknowledged = std::max(piece.acknowledged, ack->offset);
        }
      } else if (std::holds_alternative<CancelMessage>(control)) {
        parts_.jobs.cancel(piece.job->id());
      } else if (const auto* ping = std::get_if<PingMessage>(&control)) {
        std::string pong = pong_message(ping->id);
        co_await link.say(std::move(pong));
      } else {
        error = ApiError{400, "a stream takes one start or resume, and no changes; /v1/live takes them", "type", "out_of_order"};
      }
    }
    if (error) {
      parts_.jobs.cancel(piece.job->id());
      co_await link.fail(std::move(*error));
      co_return false;
    }
  }
  paused = piece.sound.window > 0 && piece.sent - piece.acknowledged >= piece.sound.window;
  co_return true;
}

Task<void> StreamRoutes::play(std::shared_ptr<SocketLink> link, std::shared_ptr<Piece> piece) {
  const auto io = co_await boost::asio::this_coro::executor;
  const StreamCount counted(parts_);
  piece->listener = link;
  // Whoever resumes takes the piece over, and what this listener was doing must not touch it any more.
  const std::int64_t turn = ++piece->turn;
  Wake& wake = link->wake();
  piece->job->changed().add(wake);
  std::optional<Following> following;
  bool ready = false;
  std::int64_t heard_event = 0;

  bool done = false;
  while (!link->gone() && !done && piece->turn == turn) {
    bool paused = false;
    const bool going_on = co_await hear(*link, *piece, paused);
    if (!going_on) {
      done = true;
      break;
    }
    // What happens to the piece.
    if (!ready) {
      std::string text = ready_message(wire_facts(*piece->job, piece->sound, piece->token, piece->sent, parts_));
      ready = co_await link->say(std::move(text));
      continue;
    }
    for (std::string& text : wire_events(*piece->job, heard_event)) co_await link->say(std::move(text));
    // Its sound.
    const auto& takes = piece->job->takes();
    if (piece->rendition == nullptr && !takes.empty() && takes.front().recording != nullptr) {
      auto work = [this, take = takes.front().id, sound = takes.front().recording, format = piece->job->spec().output] {
        return parts_.renditions.of(take, sound, format);
      };
      auto made = co_await parts_.pool.run(std::move(work));
      if (!made) {
        parts_.jobs.cancel(piece->job->id());
        ApiError error = api_error_of(made.error());
        co_await link->fail(std::move(error));
        done = true;
        break;
      }
      piece->rendition = std::move(*made);
      piece->header = wire_header_bytes(piece->sound);
    }
    if (piece->rendition != nullptr && !following) following.emplace(piece->rendition, wake, io);
    const auto state = piece->rendition == nullptr ? Rendition::State::growing : piece->rendition->state();
    const std::int64_t there = piece->rendition == nullptr ? 0 : piece->rendition->size() - piece->header - piece->sent;
    if (there > 0 && !paused) {
      std::int64_t most = std::min<std::int64_t>(there, stream_piece_bytes);
      if (piece->sound.window > 0) most = std::min(most, piece->sound.window - (piece->sent - piece->acknowledged));
      std::string bytes =
          co_await read_bytes(parts_, piece->rendition, piece->header + piece->sent, static_cast<std::size_t>(most));
      if (piece->turn != turn) break;
      if (bytes.empty()) {  // a disk that cannot be read
        parts_.jobs.cancel(piece->job->id());
        ApiError error{500, "the sound could not be read", {}, "internal"};
        co_await link->fail(std::move(error));
        break;
      }
      piece->sent += static_cast<std::int64_t>(bytes.size());
      co_await link->send(std::move(bytes));
      continue;
    }
    if (state == Rendition::State::complete && there <= 0) {
      std::string text = done_message(piece->sent, engine::request_seconds(piece->job->spec().request));
      co_await link->say(std::move(text));
      std::string reason = "done";
      co_await link->close(1000, std::move(reason));
      done = true;
    } else if (state == Rendition::State::failed || (piece->ended() && piece->job->state() != JobState::finished)) {
      ApiError error = job_error(*piece->job);
      co_await link->fail(std::move(error));
      done = true;
    } else {
      co_await wake.wait(long_enough);
    }
  }
  piece->job->changed().remove(wake);
  // Also at the end: the last bytes may not have arrived.
  leave(piece, turn);
}

void StreamRoutes::leave(std::shared_ptr<Piece> piece, std::int64_t turn) {
  auto body = [](StreamRoutes* self, std::shared_ptr<Piece> left, std::int64_t then) -> Task<void> {
    const auto executor = co_await boost::asio::this_coro::executor;
    Wake wake(executor);
    co_await wake.wait(std::chrono::milliseconds(static_cast<std::int64_t>(self->parts_.options.limits.resume_seconds * 1000)));
    if (left->turn != then) co_return;  // somebody came back
    self->parts_.jobs.cancel(left->job->id());
    self->pieces_.erase(left->token);
  };
  boost::asio::co_spawn(parts_.io, body(this, piece, turn), boost::asio::detached);
}

}  // namespace continuo::server
