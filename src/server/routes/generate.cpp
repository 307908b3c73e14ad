#include "server/routes/generate.h"

#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <nlohmann/json.hpp>

#include "server/media/following.h"
#include "server/requests/error_response.h"
#include "server/requests/generate.h"
#include "server/requests/huggingface.h"
#include "server/routes/refusal.h"
#include "server/routes/streamed.h"

namespace continuo::server {

void GenerateRoutes::add_to(Router& router) {
  RouteOptions options;
  options.makes_music = true;
  const auto huggingface = [this](Exchange& exchange) { return this->huggingface(exchange); };
  router.add(
      "POST", "/generate", [this](Exchange& exchange) { return generate(exchange); }, options);
  router.add("POST", "/v1/huggingface/text-to-audio", huggingface, options);
  router.add("POST", "/v1/models/{model}/text-to-audio", huggingface, options);
  router.add("POST", "/models/{model}", huggingface, options);
}

Task<void> GenerateRoutes::generate(Exchange& exchange) {
  if (const auto wrong = wrong_media_type(exchange.request())) {
    HttpResponse answer = error_response(*wrong);
    co_await exchange.send(std::move(answer));
    co_return;
  }
  auto request = parse_generate(exchange.request().body, parts_.context(exchange.request().client));
  if (!request) {
    HttpResponse answer = error_response(request.error());
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const Accepted accepted = accepted_by(exchange.request().header("accept"));
  if (accepted.json) {
    co_await answer_json(exchange, std::move(request->spec), request->use_cache);
    co_return;
  }
  if (accepted.format) request->spec.output.format = *accepted.format;
  auto piece = co_await start_streamed(parts_, exchange, std::move(request->spec));
  if (piece) co_await stream_body(parts_, exchange, *piece);
}

// A job like any other: its sound can be fetched at once and follows while it is made. A similar earlier prompt is offered beside
// it and replaces nothing.
Task<void> GenerateRoutes::answer_json(Exchange& exchange, JobSpec spec, bool use_cache) {
  nlohmann::json similar = nlohmann::json::array();
  const std::string prompt = spec.request.prompt;
  const std::string model = spec.model;
  if (use_cache && similar_) {
    const std::string found = co_await similar_(prompt);
    similar = nlohmann::json::parse(found, nullptr, false);
  }
  spec.streamed = false;
  const std::string extension(format_word(spec.output.format));
  auto submitted = co_await parts_.jobs.submit(std::move(spec));
  if (!submitted) {
    HttpResponse answer = refusal_response(submitted.error());
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const Job& job = **submitted;
  const std::string url = "/v1/jobs/" + job.id();
  nlohmann::json body = {{"status", "accepted"},
                         {"job_id", job.id()},
                         {"audio_url", url + "/audio." + extension},
                         {"status_url", url},
                         {"prompt", prompt},
                         {"model", model},
                         {"seed", job.spec().request.seed},
                         {"duration", engine::request_seconds(job.spec().request)},
                         {"eta_seconds", job.eta_seconds()}};
  if (similar.is_array() && !similar.empty()) {
    body["status"] = "cached";
    body["suggestion"] = similar.front();
    body["similar"] = std::move(similar);
  }
  HttpResponse answer = json_response(200, body.dump());
  co_await exchange.send(std::move(answer));
}

Task<void> GenerateRoutes::huggingface(Exchange& exchange) {
  if (const auto wrong = wrong_media_type(exchange.request())) {
    HttpResponse answer = error_response(*wrong);
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const auto named = exchange.request().captures.find("model");
  const std::string model = named == exchange.request().captures.end() ? std::string() : named->second;
  auto spec = parse_huggingface(exchange.request().body, model, parts_.context(exchange.request().client));
  if (!spec) {
    HttpResponse answer = error_response(spec.error());
    co_await exchange.send(std::move(answer));
    co_return;
  }
  const Accepted accepted = accepted_by(exchange.request().header("accept"));
  if (accepted.format && !accepted.json) spec->output.format = *accepted.format;
  auto piece = co_await start_streamed(parts_, exchange, std::move(*spec));
  if (!piece) co_return;
  if (!accepted.json) {
    co_await stream_body(parts_, exchange, *piece);
    co_return;
  }
  // The task's own shape: the sound as text beside its rate.
  const auto io = co_await boost::asio::this_coro::executor;
  Wake wake(io);
  exchange.watch(wake);
  const Following following(piece->rendition, wake, io);
  std::string sound;
  for (;;) {
    const std::string bytes = co_await next_bytes(parts_, piece->rendition, static_cast<std::int64_t>(sound.size()),
                                                  stream_piece_bytes, wake, exchange);
    if (bytes.empty()) break;
    sound += bytes;
  }
  if (exchange.gone()) co_return;
  HttpResponse answer;
  if (static_cast<std::int64_t>(sound.size()) == piece->rendition->whole_size()) {
    answer =
        json_response(200, nlohmann::json{{"audio", base64(sound)}, {"sampling_rate", piece->rendition->sample_rate()}}.dump());
    for (auto& header : piece_headers(*piece->job.job())) answer.headers.push_back(std::move(header));
    co_await until_ended(piece->job.job(), exchange);
    piece->job.keep();
  } else {
    answer = error_response(job_error(*piece->job.job()));
  }
  co_await exchange.send(std::move(answer));
}

}  // namespace continuo::server
