// The sound of takes. Nothing that a client sends becomes a path: the library says where a take's sound lies.
#include "server/media/serve.h"
#include "server/requests/audio_query.h"
#include "server/requests/json.h"
#include "server/routes/take_json.h"
#include "server/routes/takes.h"

namespace continuo::server {

namespace {

constexpr int usual_bins = 1000;

/// A take that is there and whose sound can be read.
struct Found {
  library::Take take;
  std::shared_ptr<Recording> recording;
};

Result<Found> find(const library::TakeLibrary& takes, const std::string& id) {
  CONTINUO_TRY(library::Take take, takes.get(id));
  CONTINUO_TRY(auto recording, Recording::open(takes.absolute(take)));
  return Found{std::move(take), std::move(recording)};
}

}  // namespace

Task<void> TakesRoutes::audio(Exchange& exchange) {
  struct Made {
    Parsed<AudioQuery> query;
    std::shared_ptr<Rendition> rendition;
    std::string name;
  };
  const HttpRequest& request = exchange.request();
  const std::string id = captured(request, "id"), extension = captured(request, "ext");
  auto work = [&]() -> Result<Made> {
    CONTINUO_TRY(const Found found, find(parts_.takes, id));
    Made made;
    const Recording::Shape& shape = found.recording->shape();
    made.query = read_audio_query(request.query, extension, shape.sample_rate, false);
    if (!made.query) return made;
    CONTINUO_CHECK(check_rendition(made.query->format, shape));
    CONTINUO_TRY(made.rendition, parts_.renditions.of(id, found.recording, made.query->format));
    made.name = found.take.title.empty() ? found.take.prompt : found.take.title;
    return made;
  };
  const auto made = co_await parts_.pool.run(std::move(work));
  if (!made) co_return co_await exchange.send(error_answer(made.error()));
  if (!made->query) co_return co_await exchange.send(error_response(made->query.error()));
  ServeOptions options;
  options.take = id;
  options.name = made->name.substr(0, 100);
  options.download = made->query->download;
  co_await serve_rendition(exchange, parts_.pool, made->rendition, std::move(options));
}

Task<void> TakesRoutes::peaks(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const nlohmann::json object = query_object(request.query, {});
  Fields fields(object);
  const int bins = static_cast<int>(fields.integer("bins", 1, max_peak_bins).value_or(usual_bins));
  const bool by_channel = fields.flag("channels").value_or(false);
  if (const auto done = fields.finish(); !done) co_return co_await exchange.send(error_response(done.error()));
  const std::string id = captured(request, "id");
  auto work = [&]() -> Result<std::string> {
    CONTINUO_TRY(const Found found, find(parts_.takes, id));
    CONTINUO_TRY(const Peaks peaks, parts_.peaks.of(id, found.recording, bins, by_channel));
    return write_peaks(peaks);
  };
  auto text = co_await parts_.pool.run(std::move(work));
  if (!text) co_return co_await exchange.send(error_answer(text.error()));
  co_await exchange.send(json_response(200, std::move(*text)));
}

}  // namespace continuo::server
