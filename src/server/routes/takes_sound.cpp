// The sound of takes. Nothing that a client sends becomes a path: the library says where a take's sound lies.
#include "server/media/rendition_query.h"
#include "server/media/serve.h"
#include "server/requests/error_response.h"
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
    std::shared_ptr<Rendition> rendition;
    std::string name;
  };
  const HttpRequest& request = exchange.request();
  const std::string id = captured(request, "id");
  auto format = parse_rendition_query(captured(request, "ext"), request.query, RenditionFormat(), {"download"});
  if (!format) co_return co_await exchange.send(error_response(format.error()));
  const auto download = query_flag(request.query, "download");
  if (!download) co_return co_await exchange.send(error_response(download.error()));
  format->whole = true;  // all of it is there
  auto work = [&]() -> Result<Made> {
    CONTINUO_TRY(const Found found, find(parts_.takes, id));
    CONTINUO_CHECK(check_rendition(*format, found.recording->shape()));
    Made made;
    CONTINUO_TRY(made.rendition, parts_.renditions.of(id, found.recording, *format));
    made.name = found.take.title.empty() ? found.take.prompt : found.take.title;
    return made;
  };
  const auto made = co_await parts_.pool.run(std::move(work));
  if (!made) co_return co_await exchange.send(error_answer(made.error()));
  ServeOptions options;
  options.take = id;
  std::size_t end = std::min<std::size_t>(made->name.size(), 100);
  while (end > 0 && end < made->name.size() && (static_cast<unsigned char>(made->name[end]) & 0xC0U) == 0x80U)
    --end;  // whole characters
  options.name = made->name.substr(0, end);
  options.download = download->value_or(false);
  co_await serve_rendition(exchange, parts_.pool, made->rendition, std::move(options));
}

Task<void> TakesRoutes::peaks(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const auto known = check_query(request.query, {"bins", "by_channel"});
  if (!known) co_return co_await exchange.send(error_response(known.error()));
  const auto bins = query_integer(request.query, "bins", 1, max_peak_bins);
  if (!bins) co_return co_await exchange.send(error_response(bins.error()));
  const auto by_channel = query_flag(request.query, "by_channel");
  if (!by_channel) co_return co_await exchange.send(error_response(by_channel.error()));
  const std::string id = captured(request, "id");
  auto work = [&]() -> Result<std::string> {
    CONTINUO_TRY(const Found found, find(parts_.takes, id));
    const int count = static_cast<int>(bins->value_or(usual_bins));
    CONTINUO_TRY(const Peaks peaks, parts_.peaks.of(id, found.recording, count, by_channel->value_or(false)));
    return write_peaks(peaks);
  };
  auto text = co_await parts_.pool.run(std::move(work));
  if (!text) co_return co_await exchange.send(error_answer(text.error()));
  co_await exchange.send(json_response(200, std::move(*text)));
}

}  // namespace continuo::server
