#include "server/routes/live.h"

#include <fmt/format.h>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "audio/finish.h"
#include "server/http/request_id.h"
#include "server/requests/error_response.h"
#include "server/routes/streamed.h"

namespace continuo::server {

namespace {

constexpr auto long_enough = std::chrono::hours(1);  // wakes come from elsewhere
constexpr auto pace = std::chrono::milliseconds(20);
// Both small, so that a change is heard soon: what is ahead of the listener when it comes is still the music as it was.
constexpr double ahead_seconds = 0.5;     // that the engine makes of what nobody took yet
constexpr double lead_seconds = 0.75;     // that a listener is sent before it is due, against a jittery network
constexpr double history_seconds = 15.0;  // of sound that a client that comes back can ask for again
constexpr double forever = 24.0 * 3600;   // for the finishing chain, which counts towards an end that never comes

}  // namespace

struct LiveRoutes::Piece {
  std::string token;
  std::string client;
  std::string model;
  engine::Request request;  // as it is now
  WireSound sound;
  int sample_rate = 0, channels = 0;
  std::shared_ptr<engine::Job> job;
  std::optional<audio::Chain> chain;
  // Bytes [kept_from, kept_from + kept.size()) of the sound; those from `sent` on are still to be sent.
  std::string kept;
  std::int64_t kept_from = 0, sent = 0, acknowledged = 0;
  std::optional<ApiError> ending;
  bool cancelled = false;                                                          // by its own client
  std::chrono::steady_clock::time_point taken = std::chrono::steady_clock::now();  // when its listener took something last
  std::optional<engine::Started> started;
  std::optional<engine::Queued> queued;
  Wakes changed;
  std::weak_ptr<SocketLink> listener;
  std::int64_t turn = 0;

  // The clock of its listener: byte `clock_from` was due at `clock`.
  std::chrono::steady_clock::time_point clock;
  std::int64_t clock_from = -1;

  void start_clock() { clock_from = -1; }
  /// Bytes that may be sent by now.
  std::int64_t due() {
    const auto now = std::chrono::steady_clock::now();
    const double rate = static_cast<double>(bytes_a_second());
    const auto at = [&] {
      return clock_from + static_cast<std::int64_t>(std::chrono::duration<double>(now - clock).count() * rate);
    };
    // A listener that ran dry hears on from where it stopped, so its clock stood still.
    if (clock_from < 0 || at() > made()) {
      clock = now;
      clock_from = clock_from < 0 ? sent : made();
    }
    return at() + static_cast<std::int64_t>(lead_seconds * rate);
  }

  std::int64_t made() const { return kept_from + static_cast<std::int64_t>(kept.size()); }
  std::int64_t bytes_a_second() const { return std::int64_t{sample_rate} * channels * bytes_of(sound.format); }

  /// Forgets what is sent and older than the history.
  void trim() {
    const auto history = static_cast<std::int64_t>(history_seconds * static_cast<double>(bytes_a_second()));
    const std::int64_t from = sent - history;
    if (from - kept_from < history / 4) return;  // now and then, not for every byte
    kept.erase(0, static_cast<std::size_t>(from - kept_from));
    kept_from = from;
  }

  void take(const std::vector<float>& samples) {
    auto finished = chain->push(samples);
    auto bytes = finished ? audio::encode_samples(*finished, sound.format == WireFormat::pcm16 ? audio::SampleFormat::pcm16
                                                                                               : audio::SampleFormat::float32)
                          : Result<std::vector<std::byte>>(forward_error(finished.error()));
    if (!bytes) {
      ending = api_error_of(bytes.error());
      return;
    }
    kept.append(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }

  /// Takes events until there is something to send or nothing to take.
  void poll() {
    while (!ending && made() <= sent) {
      auto event = job->poll();
      if (!event) return;
      if (auto* audio = std::get_if<engine::Audio>(&*event)) take(audio->samples);
      if (const auto* now = std::get_if<engine::Queued>(&*event)) queued = *now;
      if (const auto* now = std::get_if<engine::Started>(&*event)) started = *now;
      if (const auto* failed = std::get_if<engine::Failed>(&*event)) ending = api_error_of(failed->error);
      if (std::holds_alternative<engine::Finished>(*event)) ending = ApiError{409, "the piece has ended", {}, "ended"};
    }
  }
};

void LiveRoutes::add_to(Router& router) {
  RouteOptions options;
  options.makes_music = true;
  router.add(
      "GET", "/v1/live", [this](Exchange& exchange) { return live(exchange); }, options);
  router.add("GET", "/v1/scenes", [this](Exchange& exchange) { return scenes(exchange); });
}

Task<void> LiveRoutes::scenes(Exchange& exchange) {
  HttpResponse answer = json_response(200, parts_.scenes.text());
  co_await exchange.send(std::move(answer));
}

void LiveRoutes::stop() {
  for (const auto& [token, piece] : pieces_) {
    piece->ending = ApiError{503, "the server is stopping", {}, "stopping"};
    piece->job->cancel();
    piece->changed.set_all();
  }
}

Task<void> LiveRoutes::live(Exchange& exchange) {
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
  const auto link = std::make_shared<SocketLink>(std::move(socket), Channel::live, parts_.context(exchange.request().client),
                                                 parts_.scenes, io);
  link->start();
  auto piece = co_await begin(*link, exchange.request());
  if (piece != nullptr) co_await play(link, piece);
  link->cut();
}

Task<std::shared_ptr<LiveRoutes::Piece>> LiveRoutes::begin(SocketLink& link, const HttpRequest& request) {
  auto message = co_await link.first();
  std::optional<ApiError> error;
  if (auto* refused = std::get_if<ApiError>(&message)) {
    error = std::move(*refused);
  } else if (auto* start = std::get_if<StartMessage>(&message)) {
    auto piece = submit(std::move(*start));
    if (piece) co_return std::move(*piece);
    error = std::move(piece.error());
  } else if (const auto* resume = std::get_if<ResumeMessage>(&message)) {
    const auto found = pieces_.find(resume->token);
    // Somebody else's token is as good as none.
    if (found == pieces_.end() || found->second->client != request.client) {
      error = ApiError{404, "there is no live piece of this token; it ended, or nobody came back for it in time", "token",
                       "not_found"};
    } else if (resume->offset > found->second->sent || resume->offset < found->second->kept_from) {
      error = ApiError{422,
                       "the offset is not among the bytes that are still kept: " + std::to_string(found->second->kept_from) +
                           " to " + std::to_string(found->second->sent),
                       "offset", "out_of_range"};
    } else {
      const auto piece = found->second;
      if (const auto before = piece->listener.lock()) before->cut();
      piece->sent = piece->acknowledged = resume->offset;
      co_return piece;
    }
  }
  co_await link.fail(std::move(*error));
  co_return nullptr;
}

Parsed<std::shared_ptr<LiveRoutes::Piece>> LiveRoutes::submit(StartMessage message) {
  if (parts_.stopping()) return refuse(503, "stopping", {}, "the server is stopping");
  engine::Engine* engine = parts_.engine(message.spec.model);
  if (engine == nullptr) return refuse(503, "unavailable", "model", "the model is not loaded");
  const engine::EngineStatus status = engine->status();
  if (status.waiting >= parts_.options.limits.queue) {
    return refuse(429, "queue_full", {}, "queue full: as many pieces wait as may; try again in a moment");
  }
  // Its rows are held for as long as it plays; the job table counts its own the same way.
  const int rows = message.spec.request.guidance == 1.0F ? 1 : 2;
  const int most_rows = parts_.options.limits.rows;
  if (most_rows > 0 && status.rows + rows > most_rows) {
    return refuse(429, "queue_full", {},
                  fmt::format("all of the {} rows that may run at once are taken; try again later", most_rows));
  }
  auto piece = std::make_shared<Piece>();
  piece->token = random_id();
  piece->client = message.spec.client;
  piece->model = message.spec.model;
  piece->request = message.spec.request;
  piece->sound = message.sound;
  piece->request.endless = true;
  piece->request.service = engine::Service::realtime;
  piece->request.buffer_seconds = ahead_seconds;
  const auto& config = engine->config();
  piece->sample_rate = message.sound.sample_rate.value_or(config.codec.sample_rate);
  piece->channels = message.sound.channels.value_or(config.decoder.audio_channels);
  audio::FinishOptions finish;
  finish.sample_rate = message.sound.sample_rate;
  finish.channels = message.sound.channels;
  auto chain = audio::finishing_chain(finish, config.decoder.audio_channels, config.codec.sample_rate,
                                      static_cast<std::int64_t>(forever * config.codec.sample_rate));
  if (!chain) return tl::unexpected(api_error_of(chain.error()));
  piece->chain.emplace(std::move(*chain));
  auto job = engine->submit(piece->request, [weak = std::weak_ptr(piece), io = parts_.io] {
    boost::asio::post(io, [weak] {
      if (const auto self = weak.lock()) self->changed.set_all();
    });
  });
  if (!job) return tl::unexpected(api_error_of(job.error()));
  piece->job = std::move(*job);
  pieces_[piece->token] = piece;
  return piece;
}

std::string LiveRoutes::ready(const Piece& piece) const {
  ReadyFacts facts;
  facts.token = piece.token;
  facts.model = piece.model;
  facts.format = piece.sound.format;
  facts.sample_rate = piece.sample_rate;
  facts.channels = piece.channels;
  facts.seed = piece.request.seed;
  facts.offset = piece.sent;
  facts.window = piece.sound.window;
  facts.prompt = piece.request.prompt;
  facts.resume_seconds = parts_.options.limits.resume_seconds;
  return ready_message(facts);
}

// A change that cannot be is told, and the music goes on as it was.
Task<void> LiveRoutes::hear(SocketLink& link, Piece& piece) {
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
          if (ack->offset > piece.acknowledged) piece.taken = std::chrono::steady_clock::now();
          piece.acknowledged = std::max(piece.acknowledged, ack->offset);
        }
      } else if (auto* change = std::get_if<ChangeMessage>(&control)) {
        const Status done = piece.job->change(change->change);
        if (!done) {
          error = api_error_of(done.error());
        } else {
          if (change->change.prompt) piece.request.prompt = *change->change.prompt;
          std::string text = changed_message(piece.request.prompt, change->change.guidance, change->change.temperature);
          co_await link.say(std::move(text));
        }
      } else if (std::holds_alternative<CancelMessage>(control)) {
        piece.job->cancel();
        piece.cancelled = true;
        piece.ending = ApiError{409, "cancelled", {}, "cancelled"};
      } else if (const auto* ping = std::get_if<PingMessage>(&control)) {
        std::string pong = pong_message(ping->id);
        co_await link.say(std::move(pong));
      } else {
        error = ApiError{400, "the piece is playing already; change it, or open another connection", "type", "out_of_order"};
      }
    }
    if (error) {
      std::string text = error_message(*error);
      co_await link.say(std::move(text));
    }
  }
}

Task<void> LiveRoutes::play(std::shared_ptr<SocketLink> link, std::shared_ptr<Piece> piece) {
  const StreamCount counted(parts_);
  piece->listener = link;
  // Whoever resumes takes the piece over, and what this listener was doing must not touch it any more.
  const std::int64_t turn = ++piece->turn;
  piece->start_clock();
  Wake& wake = link->wake();
  piece->changed.add(wake);
  std::string hello = ready(*piece);
  co_await link->say(std::move(hello));
  while (!link->gone() && !piece->ending && piece->turn == turn) {
    co_await hear(*link, *piece);
    if (piece->turn != turn) break;
    const bool paused = (piece->sound.window > 0 && piece->sent - piece->acknowledged >= piece->sound.window);
    // A listener that takes nothing holds rows that others wait for.
    if (!paused) piece->taken = std::chrono::steady_clock::now();
    if (std::chrono::steady_clock::now() - piece->taken > std::chrono::duration<double>(parts_.options.limits.resume_seconds)) {
      piece->ending = ApiError{408, "nothing was acknowledged for too long", "ack", "timeout"};
      break;
    }
    const bool early = piece->sent >= piece->due();
    if (!paused && !early) piece->poll();
    if (const auto queued = std::exchange(piece->queued, std::nullopt)) {
      std::string text = queued_message(queued->place, queued->eta_seconds);
      co_await link->say(std::move(text));
    }
    if (const auto started = std::exchange(piece->started, std::nullopt)) {
      std::string text = started_message(started->realtime);
      co_await link->say(std::move(text));
    }
    if (piece->ending || piece->turn != turn) break;
    std::int64_t most = std::min<std::int64_t>(piece->made() - piece->sent, stream_piece_bytes);
    if (piece->sound.window > 0) most = std::min(most, piece->sound.window - (piece->sent - piece->acknowledged));
    if (early) most = 0;
    if (most > 0) {
      std::string bytes =
          piece->kept.substr(static_cast<std::size_t>(piece->sent - piece->kept_from), static_cast<std::size_t>(most));
      piece->sent += most;
      co_await link->send(std::move(bytes));
      piece->trim();
    } else {
      std::chrono::steady_clock::duration at_most = long_enough;
      if (early) at_most = pace;
      if (paused) at_most = std::chrono::seconds(1);
      co_await wake.wait(at_most);
    }
  }
  piece->changed.remove(wake);
  if (!piece->ending || piece->turn != turn) {
    leave(piece, turn);
    co_return;
  }
  pieces_.erase(piece->token);
  piece->job->cancel();
  if (piece->cancelled) {
    std::string text = done_message(piece->sent, static_cast<double>(piece->sent) / static_cast<double>(piece->bytes_a_second()));
    co_await link->say(std::move(text));
    std::string reason = "done";
    co_await link->close(1000, std::move(reason));
  } else {
    ApiError error = *piece->ending;
    co_await link->fail(std::move(error));
  }
}

void LiveRoutes::leave(std::shared_ptr<Piece> piece, std::int64_t turn) {
  auto body = [](LiveRoutes* self, std::shared_ptr<Piece> left, std::int64_t then) -> Task<void> {
    const auto executor = co_await boost::asio::this_coro::executor;
    Wake wake(executor);
    left->changed.add(wake);
    const auto until = std::chrono::steady_clock::now() +
                       std::chrono::milliseconds(static_cast<std::int64_t>(self->parts_.options.limits.resume_seconds * 1000));
    while (std::chrono::steady_clock::now() < until && left->turn == then && !left->ending) {
      co_await wake.wait(until - std::chrono::steady_clock::now());
    }
    if (left->turn != then) co_return;  // somebody came back
    left->job->cancel();
    self->pieces_.erase(left->token);
  };
  boost::asio::co_spawn(parts_.io, body(this, piece, turn), boost::asio::detached);
}

}  // namespace continuo::server
