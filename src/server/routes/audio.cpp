#include "server/routes/audio.h"

#include <algorithm>
#include <boost/asio/this_coro.hpp>
#include <charconv>
#include <utility>

#include "server/media/following.h"
#include "server/media/hls.h"
#include "server/media/rendition_query.h"
#include "server/media/serve.h"
#include "server/requests/error_response.h"
#include "server/wake.h"

namespace continuo::server {

namespace {

constexpr auto look_again = std::chrono::seconds(30);  // only a net under the wakes
constexpr std::size_t most_name_bytes = 80;
constexpr std::int64_t usual_bins = 1000;
constexpr const char* init_name = "init.mp4";
constexpr std::string_view segment_ending = ".m4s";

bool has_ended_badly(JobState state) { return state == JobState::failed || state == JobState::cancelled; }

ApiError no_sound(const Job& job) {
  const bool cancelled = job.state() == JobState::cancelled;
  const auto error = job.error();
  return {409,
          error       ? error->message
          : cancelled ? "this job was cancelled"
                      : "this job has no sound",
          "", cancelled ? "job_cancelled" : "job_failed"};
}

/// A name for a file: the title or the prompt, cut between characters.
std::string file_name(const Job& job, int take) {
  const JobSpec& spec = job.spec();
  std::string name = !spec.title.empty() ? spec.title : spec.request.prompt;
  if (name.empty()) name = "music";
  if (name.size() > most_name_bytes) {
    std::size_t end = most_name_bytes;
    while (end > 0 && (static_cast<unsigned char>(name[end]) & 0xC0U) == 0x80U) --end;
    name.resize(end);
  }
  return spec.takes > 1 ? fmt::format("{} {}", name, take) : name;
}

std::string encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const bool plain =
        (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    out += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

/// The query again, for the addresses in a playlist.
std::string written(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) text += (text.empty() ? "?" : "&") + encoded(name) + "=" + encoded(value);
  return text;
}

/// The number in "12.m4s".
std::optional<std::size_t> segment_number(std::string_view name) {
  if (!name.ends_with(segment_ending)) return std::nullopt;
  name.remove_suffix(segment_ending.size());
  std::size_t number = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
  if (error != std::errc{} || end != name.data() + name.size() || name.size() > 6) return std::nullopt;
  return number;
}

Task<void> answered(Exchange& exchange, Task<Parsed<void>> handler) {
  const Parsed<void> done = co_await std::move(handler);
  if (done) co_return;
  HttpResponse response = error_response(done.error());
  co_await exchange.send(std::move(response));
}

Task<Result<SegmentedStream>> segments_now(Pool& pool, std::shared_ptr<Rendition> stream) {
  Result<SegmentedStream> found;
  auto look = [&found, &stream] { found = find_segments(*stream); };
  co_await pool.run(std::move(look));
  co_return found;
}

// Not in the coroutines: g++ 12 destroys lists in braces there twice.
HttpResponse playlist_response(const SegmentedStream& stream, const Query& asked) {
  const std::string query = written(asked);
  return {
      200,
      {{"Content-Type", playlist_media_type}, {"Cache-Control", "private, no-cache"}},
      write_playlist(stream, fmt::format("segments/{}{}", init_name, query), "segments/", std::string(segment_ending) + query)};
}

HttpResponse segment_response(std::string bytes) {
  return {200, {{"Content-Type", "audio/mp4"}, {"Cache-Control", "private, max-age=3600"}}, std::move(bytes)};
}

HttpResponse peaks_response(const Peaks& outline) {
  HttpResponse response = json_response(200, write_peaks(outline));
  response.headers.emplace_back("Cache-Control", "private, no-cache");
  return response;
}

/// number: nothing for the head. Nothing: it is not there yet.
std::optional<Segment> part_of(const SegmentedStream& stream, std::optional<std::size_t> number) {
  if (number) return *number < stream.segments.size() ? std::optional(stream.segments[*number]) : std::nullopt;
  return stream.head_bytes > 0 ? std::optional(Segment{0, stream.head_bytes, 0.0}) : std::nullopt;
}

std::string capture(const HttpRequest& request, std::string_view name) {
  const auto found = request.captures.find(name);
  return found == request.captures.end() ? std::string() : found->second;
}

/// Of a playlist and its segments.
Parsed<RenditionFormat> parse_stream_query(const Query& query, const RenditionFormat& base) {
  CONTINUO_PARSE(RenditionFormat format, parse_rendition_query("m4a", query, base, {"take"}));
  if (format.finish.loop && query.contains("loop")) {
    return refuse(422, "unsupported", "loop", "a stream cannot become a loop, which needs the whole; take audio.wav or another");
  }
  format.finish.loop.reset();
  return format;
}

struct OutlineQuery {
  int bins = 0;
  bool by_channel = false;
};

Parsed<OutlineQuery> parse_outline_query(const Query& query) {
  if (auto known = check_query(query, {"take", "bins", "by_channel"}); !known) return tl::unexpected(std::move(known).error());
  CONTINUO_PARSE(const auto bins, query_integer(query, "bins", 1, max_peak_bins));
  CONTINUO_PARSE(const auto by_channel, query_flag(query, "by_channel"));
  return OutlineQuery{static_cast<int>(bins.value_or(usual_bins)), by_channel.value_or(false)};
}

}  // namespace

void AudioRoutes::add_to(Router& router) {
  router.add("GET", "/v1/jobs/{id}/audio.{ext}", [this](Exchange& exchange) { return answered(exchange, audio(exchange)); });
  router.add("GET", "/v1/jobs/{id}/stream.m3u8", [this](Exchange& exchange) { return answered(exchange, playlist(exchange)); });
  router.add("GET", "/v1/jobs/{id}/segments/{name}",
             [this](Exchange& exchange) { return answered(exchange, segment(exchange)); });
  router.add("GET", "/v1/jobs/{id}/peaks", [this](Exchange& exchange) { return answered(exchange, peaks(exchange)); });
}

Parsed<AudioRoutes::Wanted> AudioRoutes::find(const HttpRequest& request) const {
  const auto [lookup, job] = jobs_.find(capture(request, "id"));
  if (lookup == JobTable::Lookup::expired) {
    return refuse(410, "expired", "", "this job ended some time ago and is no longer kept; what it made may be among the takes");
  }
  if (lookup == JobTable::Lookup::unknown) return refuse(404, "unknown_job", "", "there is no job of this id");
  const auto takes = static_cast<std::int64_t>(job->takes().size());
  if (takes == 0) return refuse(404, "not_found", "take", "this job has no takes");
  CONTINUO_PARSE(const auto take, query_integer(request.query, "take", 1, takes));
  return Wanted{job, static_cast<std::size_t>(take.value_or(1) - 1)};
}

Task<Parsed<std::shared_ptr<Recording>>> AudioRoutes::recording_of(Exchange& exchange, Wanted wanted) {
  const boost::asio::any_io_executor io = co_await boost::asio::this_coro::executor;
  Wake wake(io);
  exchange.watch(wake);
  wanted.job->changed().add(wake);
  for (;;) {
    if (has_ended_badly(wanted.job->state()) || has_ended_badly(wanted.take().state)) {
      co_return tl::unexpected(no_sound(*wanted.job));
    }
    if (wanted.take().recording) co_return wanted.take().recording;
    if (wanted.job->state() == JobState::finished) {
      co_return refuse(410, "expired", "", "the sound of this job is no longer kept");
    }
    if (exchange.gone()) co_return nullptr;
    co_await wake.wait(look_again);
  }
}

Task<Parsed<std::shared_ptr<Rendition>>> AudioRoutes::rendition_of(Wanted wanted, std::shared_ptr<Recording> recording,
                                                                   RenditionFormat format) {
  auto check = [format, recording] { return check_rendition(format, recording->shape()); };
  const Status possible = co_await pool_.run(std::move(check));
  if (!possible) co_return tl::unexpected(api_error_of(possible.error()));
  auto rendition = renditions_.of(wanted.take().id, recording, format);
  if (!rendition) co_return tl::unexpected(api_error_of(rendition.error()));
  co_return std::move(*rendition);
}

Task<Parsed<void>> AudioRoutes::audio(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const Parsed<Wanted> wanted = find(request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  Parsed<RenditionFormat> format = parse_rendition_query(capture(request, "ext"), request.query, wanted->job->spec().output);
  if (!format) co_return tl::unexpected(format.error());
  const Parsed<std::optional<bool>> download = query_flag(request.query, "download");
  if (!download) co_return tl::unexpected(download.error());
  const auto recording = co_await recording_of(exchange, *wanted);
  if (!recording) co_return tl::unexpected(recording.error());
  if (*recording == nullptr) co_return Parsed<void>();
  format->whole = (*recording)->state() == Recording::State::complete;
  auto rendition = co_await rendition_of(*wanted, *recording, *format);
  if (!rendition) co_return tl::unexpected(rendition.error());
  ServeOptions options;
  options.take = wanted->take().id;
  options.name = file_name(*wanted->job, wanted->take().number);
  options.download = download->value_or(false);
  co_await serve_rendition(exchange, pool_, std::move(*rendition), std::move(options));
  co_return Parsed<void>();
}

Task<Parsed<std::shared_ptr<Rendition>>> AudioRoutes::stream_of(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const Parsed<Wanted> wanted = find(request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  Parsed<RenditionFormat> format = parse_stream_query(request.query, wanted->job->spec().output);
  if (!format) co_return tl::unexpected(format.error());
  const auto recording = co_await recording_of(exchange, *wanted);
  if (!recording) co_return tl::unexpected(recording.error());
  if (*recording == nullptr) co_return nullptr;
  auto rendition = co_await rendition_of(*wanted, *recording, *format);
  co_return rendition;
}

Task<Parsed<void>> AudioRoutes::playlist(Exchange& exchange) {
  const auto stream = co_await stream_of(exchange);
  if (!stream) co_return tl::unexpected(stream.error());
  if (*stream == nullptr) co_return Parsed<void>();
  const boost::asio::any_io_executor io = co_await boost::asio::this_coro::executor;
  Wake wake(io);
  exchange.watch(wake);
  const Following following(*stream, wake, io);
  for (;;) {  // players give up on a playlist that is empty
    const Result<SegmentedStream> found = co_await segments_now(pool_, *stream);
    if (!found) co_return tl::unexpected(api_error_of(found.error()));
    if (!found->segments.empty() || found->complete) {
      HttpResponse response = playlist_response(*found, exchange.request().query);
      co_await exchange.send(std::move(response));
      co_return Parsed<void>();
    }
    if (exchange.gone()) co_return Parsed<void>();
    co_await wake.wait(look_again);
  }
}

Task<Parsed<void>> AudioRoutes::segment(Exchange& exchange) {
  const std::string name = capture(exchange.request(), "name");
  const std::optional<std::size_t> number = segment_number(name);
  if (!number && name != init_name) {
    co_return refuse(404, "not_found", "", "a stream has segments/init.mp4 and segments/0.m4s and so on");
  }
  const auto stream = co_await stream_of(exchange);
  if (!stream) co_return tl::unexpected(stream.error());
  if (*stream == nullptr) co_return Parsed<void>();
  const boost::asio::any_io_executor io = co_await boost::asio::this_coro::executor;
  Wake wake(io);
  exchange.watch(wake);
  const Following following(*stream, wake, io);
  for (;;) {  // one that a playlist named may be yet to be made again
    const Result<SegmentedStream> found = co_await segments_now(pool_, *stream);
    if (!found) co_return tl::unexpected(api_error_of(found.error()));
    const std::optional<Segment> part = part_of(*found, number);
    if (part) {
      Result<std::string> bytes = co_await read_rendition(pool_, *stream, part->offset, static_cast<std::size_t>(part->bytes));
      if (!bytes) co_return tl::unexpected(api_error_of(bytes.error()));
      HttpResponse response = segment_response(std::move(*bytes));
      co_await exchange.send(std::move(response));
      co_return Parsed<void>();
    }
    if (found->complete) {
      co_return refuse(404, "not_found", "", fmt::format("this stream has {} segments", found->segments.size()));
    }
    if (exchange.gone()) co_return Parsed<void>();
    co_await wake.wait(look_again);
  }
}

Task<Parsed<void>> AudioRoutes::peaks(Exchange& exchange) {
  const HttpRequest& request = exchange.request();
  const Parsed<Wanted> wanted = find(request);
  if (!wanted) co_return tl::unexpected(wanted.error());
  const Parsed<OutlineQuery> query = parse_outline_query(request.query);
  if (!query) co_return tl::unexpected(query.error());
  const std::shared_ptr<Recording> recording = wanted->take().recording;
  if (!recording && has_ended_badly(wanted->job->state())) co_return tl::unexpected(no_sound(*wanted->job));
  Result<Peaks> outline = Peaks();
  if (recording) {
    auto work = [this, id = wanted->take().id, recording, bins = query->bins, split = query->by_channel] {
      return peaks_.of(id, recording, bins, split);
    };
    outline = co_await pool_.run(std::move(work));
  } else {
    outline->bins = query->bins;
    outline->duration = engine::request_seconds(wanted->job->spec().request);
  }
  if (!outline) co_return tl::unexpected(api_error_of(outline.error()));
  HttpResponse response = peaks_response(*outline);
  co_await exchange.send(std::move(response));
  co_return Parsed<void>();
}

}  // namespace continuo::server
